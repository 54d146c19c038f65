/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds.h"

#include "../model/operation.h"

char kind_of(const struct operation *operation)
{
	if (operation->moves)
		return operation->store ? KIND_STORE : KIND_LOAD;
	switch (operation->class) {
	case CLASS_mul32:
	case CLASS_mul64:
	case CLASS_mull:
	case CLASS_mulh:
	case CLASS_mla32:
	case CLASS_mul16:
	case CLASS_mlal:
	case CLASS_umaal:
		return KIND_MULTIPLY;
	case CLASS_div32:
	case CLASS_div64:
		return KIND_DIVIDE;
	default:
		return KIND_OTHER;
	}
}

char kind_of_a64(uint32_t word)
{
	struct operation operation = a64_operation(word);

	return kind_of(&operation);
}
