/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the TA hand to each other. */
#ifndef KEYCACHE_TYPES_H
#define KEYCACHE_TYPES_H

#include <tee_internal_api.h>

#include "keycache_ta.h"

/* A client's name, in memory of the TA. Behind its length there are zeros, so that two can be compared whole. */
struct id {
	uint8_t length;
	uint8_t bytes[KEYCACHE_ID_BYTES];
};

struct key {
	uint8_t length;
	uint8_t flags; /* KEYCACHE_GETTABLE, KEYCACHE_WORN */
	uint8_t bytes[KEYCACHE_KEY_BYTES];
};

static inline bool id_equal(const struct id *one, const struct id *other)
{
	return one->length == other->length && !TEE_MemCompare(one->bytes, other->bytes, one->length);
}

static inline void wipe(void *memory, size_t bytes)
{
	TEE_MemFill(memory, 0, bytes);
}

#endif /* KEYCACHE_TYPES_H */
