/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of 64-bit numbers by 64-bit keys that is emptied at once. */
#ifndef WORLDWISE_SECRETS_MAP_H
#define WORLDWISE_SECRETS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	uint64_t value;
	uint64_t generation;
};

/* All zeros: an empty table. */
struct map {
	struct map_entry *entries;
	size_t room; /* a power of two, or 0 */
	size_t used;
	uint64_t generation;
};

/* The value of a key, NULL if it has none. It is valid until the next map_put(). */
const uint64_t *map_get(const struct map *map, uint64_t key);
/* Gives a key that has none a value. */
void map_put(struct map *map, uint64_t key, uint64_t value);
void map_empty(struct map *map);
void map_free(struct map *map);

#endif /* WORLDWISE_SECRETS_MAP_H */
