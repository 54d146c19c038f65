/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys in secure storage, either one. Nothing stays open from one call to the next. */
#ifndef KEYCACHE_STORE_H
#define KEYCACHE_STORE_H

#include "records.h"
#include "types.h"

/*
 * A client's place in a bucket's object, as it is stored. A place that is free has a version too, that of the client's
 * removal (or 0: never used), so that a bucket's highest version never goes back.
 */
struct slot {
	uint32_t version;
	uint8_t id_length; /* 0: free */
	uint8_t key_length;
	uint8_t flags;
	uint8_t reserved;
	uint8_t id[KEYCACHE_ID_BYTES];
	uint8_t key[KEYCACHE_KEY_BYTES];
	uint32_t counted; /* of every 2^20 messages that are sealed about one: see keys_count() */
	uint8_t spare[20];
};

/* How many slots a bucket's object grows by, in one write: two blocks of RPMB. */
#define STORE_GROWTH 4
/* How many are read at a time. */
#define STORE_CHUNK 32

/* What is kept once. */
struct meta {
	uint32_t magic;
	uint32_t format;
	/* Relaxed SETs may have given out versions up to this one, without a trace in a bucket. */
	uint32_t reserved_version;
	uint32_t reserved;
	uint8_t seal_key[SEAL_KEY_BYTES];
};

struct store_reader {
	TEE_ObjectHandle object;
	uint32_t left;
};

/*
 * Takes a storage into use. At the first start, or if `meta` was lost, makes what is missing, and a seal key with it: so
 * no record is accepted that is older than a bucket which may be empty now.
 */
TEE_Result store_open(enum keycache_storage storage, struct meta *meta);
TEE_Result store_save_meta(const struct meta *meta);

/*
 * While one object is open, OP-TEE keeps the directory of the REE file system open, too: otherwise each opening of an object
 * reads all of it anew. For commands that go through many buckets.
 */
TEE_Result store_hold(TEE_ObjectHandle *held);
void store_release(TEE_ObjectHandle held);

/* All slots of a bucket, a chunk at a time. TEE_ERROR_CORRUPT_OBJECT: the bucket is lost. */
TEE_Result store_begin(uint32_t bucket, uint32_t *slots, struct store_reader *reader);
/* Goes on behind `skip` more slots. `count` is 0 at the end. After an error there is nothing to end. */
TEE_Result store_next(struct store_reader *reader, uint32_t skip, const struct slot **slots, uint32_t *count);
void store_end(struct store_reader *reader);

TEE_Result store_get(uint32_t bucket, uint32_t number, struct slot *slot);
/*
 * Writes a slot: all of it is there, or nothing has changed. `old` is what must be in its place (version and id), or NULL
 * to let the bucket, which must have exactly `number` slots, grow by STORE_GROWTH. TEE_ERROR_SECURITY: storage has
 * something else.
 */
TEE_Result store_put(uint32_t bucket, uint32_t number, const struct slot *slot, const struct slot *old);
/* An empty bucket in the place of one that is lost. */
TEE_Result store_renew(uint32_t bucket);

#endif /* KEYCACHE_STORE_H */
