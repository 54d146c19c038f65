/* SPDX-License-Identifier: BSD-2-Clause */
/* Another draw for a portable implementation in Linux: its random bytes begin further on in their sequence. */
#include <stdlib.h>

#include "../adapters/ops.h"

#define VARIABLE "WORLDWISE_DRAW"
/* No case draws as much as one step. */
#define STEP (1024 * 1024)

__attribute__((constructor)) static void draw(void)
{
	static uint8_t passed[4096];
	const char *number = getenv(VARIABLE);

	for (unsigned long draws = number ? strtoul(number, NULL, 10) : 0; draws; draws--)
		for (size_t done = 0; done < STEP; done += sizeof(passed))
			ops_random(passed, sizeof(passed));
}
