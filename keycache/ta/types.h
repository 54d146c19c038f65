/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the TA hand to each other. */
#ifndef KEYCACHE_TYPES_H
#define KEYCACHE_TYPES_H

#include <tee_internal_api.h>

#include "keycache_ta.h"

/*
 * A client's name, in memory of the TA. Behind its length there are zeros, so that two can be compared whole. Its current key and
 * its previous one are two of everything: places, versions, records, entries of the cache.
 */
struct id {
	uint8_t length;
	bool previous;
	uint8_t bytes[KEYCACHE_ID_BYTES];
};

struct key {
	uint8_t length;
	uint8_t flags; /* as in keycache_record */
	uint8_t bytes[KEYCACHE_KEY_BYTES];
};

static inline bool id_equal(const struct id *one, const struct id *other)
{
	return one->length == other->length && one->previous == other->previous &&
	       !TEE_MemCompare(one->bytes, other->bytes, one->length);
}

/* KEYCACHE_ID_BYTES at most, printable ASCII without spaces; else TEE_ERROR_BAD_PARAMETERS. `bytes` are read once. */
TEE_Result id_make(const uint8_t *bytes, size_t length, struct id *id);

/* As slots and records have it. */
static inline uint8_t id_mark(const struct id *id)
{
	return (uint8_t)(id->length | (id->previous ? KEYCACHE_PREVIOUS : 0));
}

static inline void wipe(void *memory, size_t bytes)
{
	TEE_MemFill(memory, 0, bytes);
}

#endif /* KEYCACHE_TYPES_H */
