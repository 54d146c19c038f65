/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys in the TA's memory: bounded, and allocated once. */
#ifndef KEYCACHE_CACHE_H
#define KEYCACHE_CACHE_H

#include "types.h"

/* Fewer bytes hold nothing. Begins empty; what was there is wiped. */
TEE_Result cache_open(size_t bytes);
void cache_close(void);

/* The key, or NULL; what is found is the most recently used one then. Good until the cache changes. */
const struct key *cache_get(const struct id *id);
bool cache_has(const struct id *id);
bool cache_full(void);
/*
 * Puts a key in, or in the place of the client's old one. If nothing is free, the least recently used one is evicted.
 * Does nothing if the bound is too small for any.
 */
void cache_put(const struct id *id, const struct key *key);
/* Whether it was there. Its memory is wiped. */
bool cache_remove(const struct id *id);

uint32_t cache_capacity(void);
uint32_t cache_count(void);
uint32_t cache_bytes(void);
uint64_t cache_evictions(void);

#endif /* KEYCACHE_CACHE_H */
