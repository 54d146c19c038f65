/* SPDX-License-Identifier: BSD-2-Clause */
/* A keyed hash of a client's id: SipHash-2-4 (Aumasson, Bernstein: SipHash, a fast short-input PRF, 2012). */
#ifndef KEYCACHE_SIPHASH_H
#define KEYCACHE_SIPHASH_H

#include "types.h"

/* Takes a new random key. Ids that collide can so not be chosen, and hashes mean nothing outside of this TA's life. */
void siphash_start(void);
void siphash_set_key(const uint8_t key[16]);
uint64_t siphash_bytes(const uint8_t *bytes, size_t count);

static inline uint64_t siphash(const struct id *id)
{
	uint64_t hash = siphash_bytes(id->bytes, id->length);

	return id->previous ? ~hash : hash;
}

#endif /* KEYCACHE_SIPHASH_H */
