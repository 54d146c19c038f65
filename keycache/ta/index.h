/* SPDX-License-Identifier: BSD-2-Clause */
/* Which client has a key, of which version, and where it is stored: without a look into secure storage. */
#ifndef KEYCACHE_INDEX_H
#define KEYCACHE_INDEX_H

#include "store.h"
#include "types.h"

/* The fewest bytes: one full bucket. And how many are taken if nobody says: for 100,000 clients. */
#define INDEX_LEAST (32 * 1024)
#define INDEX_DEFAULT (1344 * 1024)

/* What is known of a key without a look at its slot. */
enum marks { MARK_TAKEN = 1, MARK_PREVIOUS = 2, MARK_ENROLLED = 4, MARK_WEARING = 8, MARK_WORN = 16 };

/* How many slots of a kind there are. */
struct tally {
	uint32_t clients;
	uint32_t previous; /* not counted among the clients, nor anywhere else */
	uint32_t enrolled;
	uint32_t wearing;
	uint32_t worn;
};

struct place {
	uint32_t bucket;
	uint32_t slot;
	uint32_t version; /* of what is there */
	uint8_t marks;
	bool grows; /* the slot is not there yet: the bucket is to grow */
};

/* `floor`: versions up to it are taken. Nothing is read yet. */
TEE_Result index_open(enum keycache_storage storage, size_t bytes, uint32_t floor);
void index_close(void);
/* Forgets what outlasts index_close. */
void index_forget(void);
/* Reads all buckets once, so that clients are counted, and as many stay as the bound holds. One that is lost is no error. */
TEE_Result index_read_all(void);

/* KEYCACHE_NO_KEY; TEE_ERROR_CORRUPT_OBJECT if the client's bucket is lost. */
TEE_Result index_find(const struct id *id, struct place *place);
/* A place for a client that has none. */
TEE_Result index_room(const struct id *id, struct place *place);
/* The version that the next key of a bucket gets. Relaxed ones are taken at once, others when they are noted. */
TEE_Result index_next_version(uint32_t bucket, uint32_t *version);
void index_take_version(uint32_t bucket, uint32_t version);
uint32_t index_bucket(const struct id *id);

/* What was written in a place. */
void index_note(const struct place *place, const struct slot *slot);
/* A write failed, and who knows what is there: to be read again. */
void index_doubt(uint32_t bucket);
/* The storage has another content than was written: not used any more. */
void index_lose(uint32_t bucket);
bool index_is_lost(uint32_t bucket);
/* Buckets that are lost are looked at again when they are needed: perhaps they are back. */
void index_retry(void);
/* The bucket was made anew. */
void index_renew(uint32_t bucket);

struct tally index_tally(void);
uint32_t index_lost(void);
uint32_t index_bytes(void);
uint32_t index_bound(void);
uint64_t index_reads(void);
uint64_t index_rolled_back(void);

#endif /* KEYCACHE_INDEX_H */
