/* SPDX-License-Identifier: BSD-2-Clause */
/* The random bytes of portable implementations, wherever they run. */
#include "../adapters/ops.h"

void ops_random(uint8_t *bytes, size_t length)
{
	/* Marsaglia's xorshift with 32 bits: cheap, so that what it costs is the library's, not the generator's. */
	static uint32_t state = 0x9E3779B9u;

	while (length) {
		state ^= state << 13;
		state ^= state >> 17;
		state ^= state << 5;
		for (unsigned int i = 0; i < 4 && length; i++, length--)
			*bytes++ = (uint8_t)(state >> (8 * i));
	}
}
