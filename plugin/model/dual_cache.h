/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cache between a core that issues two instructions a cycle and its flash: lines and times alone. */
#ifndef WORLDWISE_MODEL_DUAL_CACHE_H
#define WORLDWISE_MODEL_DUAL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define DUAL_LINES 2048 /* of a cache, at most */

/* What it costs to bring a line: the eight bytes that were asked for come first, then the rest of the line in turn. */
struct dual_fill {
	uint32_t line_bytes; /* a power of two */
	uint32_t line_bits;  /* 2 to this power */
	uint32_t first;      /* cycles until the bytes that were asked for are there */
	uint32_t bus_bits;   /* bytes that come at a time: 2 to this power */
	uint32_t bus_cycles; /* from these to the next */
};

struct dual_cache {
	uint64_t lines[DUAL_LINES]; /* sets x ways, the one used last first; a line's number plus one, 0 for none */
	uint32_t sets;              /* a power of two */
	uint32_t ways;

	/* The line that came last. */
	uint64_t filled; /* its number plus one */
	uint32_t asked;  /* which of its parts was asked for */
	uint64_t came;   /* when that part was there */
};

/* Whether a cache can be of that size, with lines and a bus of so many bytes. */
bool dual_cache_fits(uint32_t line_bytes, uint32_t bus_bytes, uint32_t kib, uint32_t ways);

/* Everything is empty. */
void dual_cache_forget(struct dual_cache *cache, const struct dual_fill *fill, uint32_t kib, uint32_t ways);

/*
 * When what lies at `address` is there, asked for at cycle `now`: then, or later if it is not in the cache. `bus` is
 * when the bus to the flash, which all caches share, takes the next line.
 */
uint64_t dual_cache_when(struct dual_cache *cache, const struct dual_fill *fill, uint64_t address, uint64_t now,
			 uint64_t *bus);

#endif /* WORLDWISE_MODEL_DUAL_CACHE_H */
