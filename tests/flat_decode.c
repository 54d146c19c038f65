/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says what plugin/arm32 makes of instructions: flat_decode < LINES. A line is `a32`, `t32` or `a64`, the address and up
 * to four bytes in hexadecimal, as one number whose first byte is the lowest. Printed are the flow, the target, what is
 * added to the stack pointer, whether it moves otherwise, the kind and the bytes; of a64, as plugin/aarch64 has it, the
 * kind alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aarch64/kinds.h"
#include "arm32/decode.h"

int main(void)
{
	static const char *const flows[] = { "plain", "call", "call-register", "jump", "return", "trap", "eret" };
	char set[8];
	uint64_t address;
	uint32_t word;

	while (scanf("%7s %" SCNx64 " %" SCNx32, set, &address, &word) == 3) {
		const uint8_t bytes[] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
					  (uint8_t)(word >> 24) };
		struct direction to;

		if (!strcmp(set, "a64")) {
			printf("%c\n", kind_of_a64(word));
			continue;
		}
		to = direction_of(strcmp(set, "t32") ? SET_A32 : SET_T32, bytes, address, false);

		printf("%s %" PRIx64 " %" PRId32 " %s %c %u\n", flows[to.flow], to.target, to.stack,
		       to.moves_stack ? "otherwise" : "known", to.kind, to.bytes);
	}
	return 0;
}
