/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Caches and the stores that loads take their data from. Lines and tags alone: what is in memory does not matter. */
#ifndef WORLDWISE_MEMORY_H
#define WORLDWISE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "table.h"

#define MOST_WAYS 16

struct cache {
	uint64_t *lines; /* sets x ways, the one used last first; a line's number plus one, 0 for none */
	uint32_t sets;   /* a power of two */
	uint32_t ways;
};

/* What was stored last into eight bytes. */
struct stored {
	uint64_t granule; /* address / 8 plus one */
	uint64_t ready;   /* when the data can be forwarded */
	uint64_t drained; /* when it is in the cache */
	uint8_t mask;     /* the bytes that store wrote */
};

#define STORED 1024u

struct memory {
	struct cache data;
	struct cache code;
	struct cache second;
	struct stored stored[STORED];
	uint64_t last_code_line;
	uint64_t last_miss;
};

void memory_start(struct memory *memory, const struct table *table);
void memory_forget(struct memory *memory);

/* How many cycles later than from the first cache data comes, or an instruction. Fills the caches. */
uint32_t memory_data(struct memory *memory, const struct table *table, uint64_t address);
uint32_t memory_code(struct memory *memory, const struct table *table, uint64_t address);

/* A store's data are there at `ready` and in the cache at `drained`. */
void memory_store(struct memory *memory, uint64_t address, uint32_t bytes, uint64_t ready, uint64_t drained);

/*
 * When a load of these bytes can have them, as far as stores before it are concerned that are not in the cache at
 * `now`; 0 if none matters.
 */
uint64_t memory_stored(const struct memory *memory, const struct table *table, uint64_t address, uint32_t bytes,
		       uint64_t now);

#endif /* WORLDWISE_MEMORY_H */
