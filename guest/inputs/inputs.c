/* SPDX-License-Identifier: BSD-2-Clause */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>

#include "drbg.h"

#define VARIABLE "WORLDWISE_SEED"
/* One request: some hundred signatures by libtomcrypt draw no more. */
#define POOL 16384

static struct drbg drbg;
static uint8_t pool[POOL];
static size_t used;

static void fill(void)
{
	drbg_generate(&drbg, pool, sizeof(pool));
	used = 0;
}

__attribute__((constructor)) static void start(void)
{
	/* Without one, on a host that is measured itself, the seed has no digits: the draw is the same there too. */
	const char *seed = getenv(VARIABLE);

	drbg_start(&drbg, (const uint8_t *)(seed ? seed : ""), seed ? strlen(seed) : 0);
	fill();
}

void inputs_read(uint8_t *out, size_t length)
{
	while (length) {
		size_t piece = length < POOL - used ? length : POOL - used;

		memcpy(out, pool + used, piece);
		used += piece;
		out += piece;
		length -= piece;
		if (used == POOL)
			fill();
	}
}
