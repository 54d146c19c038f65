// SPDX-License-Identifier: BSD-2-Clause
// The checksum of standard input, taken a kilobyte at a time.
#include <stdio.h>

#include "crc32.h"

int main(void)
{
	uint8_t block[1024];
	uint32_t all = 0;
	size_t size;

	while ((size = fread(block, 1, sizeof(block), stdin)) > 0)
		all ^= crc32(block, size);
	printf("%08x\n", all);
	return 0;
}
