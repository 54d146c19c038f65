/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys in secure storage, either one. Nothing stays open from one call to the next. */
#ifndef KEYCACHE_STORE_H
#define KEYCACHE_STORE_H

#include "points.h"
#include "records.h"
#include "types.h"

#define STORE_PAIRED_BYTES 8

/*
 * A client's place in a bucket's object, as it is stored. A place that is free has a version too, that of the client's
 * removal (or 0: never used), so that a bucket's highest version never goes back.
 */
struct slot {
	uint32_t version;
	uint8_t id_length; /* 0: free; with KEYCACHE_PREVIOUS: the key that was before */
	uint8_t key_length;
	uint8_t flags;
	uint8_t reserved;
	uint8_t id[KEYCACHE_ID_BYTES];
	uint8_t key[KEYCACHE_KEY_BYTES];
	uint32_t counted; /* of every 2^20 messages that are sealed about one: see keys_count() */
	uint8_t spare[4];
	uint64_t serial; /* of its enrolment, or 0 */
	/*
	 * The first bytes of keycache_identity.ta's digest, if there was an authority when the key was set; zeros else. An enrolled key
	 * is good only with the pair of keys that its authority knew, and a backup has no key that was set before its authority came.
	 */
	uint8_t paired[STORE_PAIRED_BYTES];
};

/*
 * How often a key's messages are counted, each time for about 2^20, before it is worn out. 2^32 messages are counted 4,096 times,
 * give or take 64; so many more are sealed with a chance of 1 in 500,000. From three quarters on it is said to be wearing.
 */
#define MOST_COUNTED 3800
#define WEARING_COUNTED (MOST_COUNTED * 3 / 4)

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
	/* Format 1 ended here. */
	uint64_t floor;   /* no enrolment of a serial up to this one, for a client without an enrolled key */
	uint64_t highest; /* of all enrolments' serials */
	uint64_t trusted; /* the serial of what follows, or 0: there is no authority */
	uint8_t signer[KEYCACHE_POINT_BYTES];
	uint8_t backup[KEYCACHE_POINT_BYTES];
	struct pair pair; /* the TA's own */
};

struct store_reader {
	TEE_ObjectHandle object;
	uint32_t left;
};

/*
 * Takes a storage into use. At the first start, or if `meta` was lost, makes what is missing, and a seal key with it: so
 * no record is accepted that is older than a bucket which may be empty now. The pair of keys is new then as well, so that nothing
 * counts that an authority has signed; what an older TA has left gets one.
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
