/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy.h"

#include <sys/random.h>

#include "../inputs/inputs.h"

int entropy_read(uint8_t *out, size_t length)
{
	uint8_t *bytes = out;

	/* What asking the operating system costs is part of the figure; what it answers is not. */
	for (size_t left = length; left;) {
		ssize_t got = getrandom(bytes, left, 0);

		if (got < 0)
			return -1;
		bytes += got;
		left -= (size_t)got;
	}
	inputs_read(out, length);
	return 0;
}
