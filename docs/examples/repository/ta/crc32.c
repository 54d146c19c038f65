// SPDX-License-Identifier: BSD-2-Clause
#include "crc32.h"

uint32_t crc32(const uint8_t *data, size_t size)
{
	uint32_t sum = 0xffffffff;

	for (size_t at = 0; at < size; at++) {
		sum ^= data[at];
		for (int bit = 0; bit < 8; bit++)
			sum = (sum >> 1) ^ (0xedb88320 & -(sum & 1));
	}
	return ~sum;
}
