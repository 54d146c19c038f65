/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a key is: in the cache, in a record that the normal world brings, in secure storage, or waiting for it. */
#ifndef KEYCACHE_KEYS_H
#define KEYCACHE_KEYS_H

#include "types.h"

struct config {
	enum keycache_storage storage;
	enum keycache_policy policy;
	uint32_t cache_bytes;
	uint32_t index_bytes;
	uint32_t flags;
};

TEE_Result keys_configure(const struct config *config);
/* Writes what waits, if it can, and wipes everything. */
void keys_close(void);
bool keys_configured(void);
bool keys_naive(void);
bool keys_can_be_got(void);

/* The results are those of the commands in keycache_ta.h. An offer may be NULL. All pointers are to memory of the TA. */
TEE_Result keys_use(const struct id *id, const struct keycache_offer *offer, struct key *key, bool *cached);
/*
 * Counts a message that is about to be sealed, in secure storage. KEYCACHE_WORN_OUT if it must not be: `key` has KEYCACHE_WORN
 * from then on, and so has its record.
 */
TEE_Result keys_count(const struct id *id, struct key *key);
TEE_Result keys_set(const struct id *id, struct key *key, bool relaxed, struct keycache_record *record);
TEE_Result keys_delete(const struct id *id);
TEE_Result keys_exists(const struct id *id);
TEE_Result keys_load(const struct id *id, const struct keycache_offer *offer);
TEE_Result keys_evict(const struct id *id);
TEE_Result keys_record(const struct id *id, struct keycache_record *record);
/* `bytes`: of `ids`; then how many are used. */
TEE_Result keys_list(uint32_t *position, uint8_t *ids, size_t *bytes);
TEE_Result keys_flush(void);
TEE_Result keys_repair(uint32_t *count);
void keys_stats(struct keycache_stats *stats);

#endif /* KEYCACHE_KEYS_H */
