/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a key is: in the cache, in a record that the normal world brings, in secure storage, or waiting for it. */
#ifndef KEYCACHE_KEYS_H
#define KEYCACHE_KEYS_H

#include "types.h"

struct meta;
struct slot;

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
/* The flags of a key that is to have these, as far as the configuration lets it. */
uint8_t keys_flags(uint8_t wanted);

/* The results are those of the commands in keycache_ta.h. An offer may be NULL. All pointers are to memory of the TA. */
TEE_Result keys_use(const struct id *id, const struct keycache_offer *offer, struct key *key, bool *cached);
/*
 * Counts a message that is about to be sealed, in secure storage. KEYCACHE_WORN_OUT if it must not be: `key` has KEYCACHE_WORN
 * from then on, and so has its record.
 */
TEE_Result keys_count(const struct id *id, struct key *key);

/* How a key comes into the place of another one. */
struct setting {
	bool relaxed;
	bool keep;       /* what is replaced becomes the previous key */
	bool at_once;    /* no previous key stays */
	uint64_t serial; /* of an enrolment */
};

/* A client's record, and behind it that of its previous key, if that was kept now: `count` says so. */
struct records {
	struct keycache_record records[2];
	uint32_t count;
};

/* Whether a client's key may be replaced by one of these flags and, if that is enrolled, this serial. */
TEE_Result keys_may_set(const struct id *id, uint8_t flags, uint64_t serial);
/* `key` has all of its flags. */
TEE_Result keys_set(const struct id *id, const struct key *key, const struct setting *setting, struct records *records);
TEE_Result keys_delete(const struct id *id);
TEE_Result keys_forget(const struct id *id);
TEE_Result keys_exists(const struct id *id);
TEE_Result keys_load(const struct id *id, const struct keycache_offer *offer);
TEE_Result keys_evict(const struct id *id);
TEE_Result keys_record(const struct id *id, struct keycache_record *record);
/* `bytes`: of `ids`; then how many are used. */
TEE_Result keys_list(uint32_t *position, uint8_t *ids, size_t *bytes);
/* Goes through all slots from a position on, a bounded part at a time: while `visit` takes what it is shown. */
TEE_Result keys_walk(uint32_t *position, bool (*visit)(const struct slot *slot, void *context), void *context);
TEE_Result keys_flush(void);
TEE_Result keys_repair(uint32_t *count);
void keys_stats(struct keycache_stats *stats);
/* A command or a receiver was refused for what its key is not for. */
void keys_denied(void);

/* What is kept once, not in naive mode; and what is written in its place. */
const struct meta *keys_meta(void);
TEE_Result keys_save_meta(const struct meta *changed);
/* SHA-256 of the TA's point. */
const uint8_t *keys_device(void);
/* Whether a slot was set under the authority of this storage. */
bool keys_paired(const struct slot *slot);

#endif /* KEYCACHE_KEYS_H */
