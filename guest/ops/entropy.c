/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy.h"

#include <sys/random.h>

int entropy_read(uint8_t *out, size_t length)
{
	while (length) {
		ssize_t got = getrandom(out, length, 0);

		if (got < 0)
			return -1;
		out += got;
		length -= (size_t)got;
	}
	return 0;
}
