/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * P-256 by the GlobalPlatform API: pairs of keys, keys that two points agree on, signatures. All pointers are to memory of the TA.
 * Points are on the curve: who takes them from outside looks before (curve.h).
 */
#ifndef KEYCACHE_POINTS_H
#define KEYCACHE_POINTS_H

#include "types.h"

#define SECRET_BYTES 32
#define DIGEST_BYTES 32

struct pair {
	uint8_t secret[SECRET_BYTES];
	uint8_t point[KEYCACHE_POINT_BYTES];
};

/* What is kept sealed for a point: a key of any length, and zeros behind it. */
struct sealed_key {
	uint8_t *bytes; /* KEYCACHE_KEY_BYTES */
	uint8_t *tag;   /* KEYCACHE_TAG_BYTES */
	const uint8_t *nonce;
	const void *aad;
	size_t aad_bytes;
};

/* Objects and operations are allocated once, and have no key between calls. */
TEE_Result points_open(void);
void points_close(void);

void digest(const void *bytes, size_t size, uint8_t out[DIGEST_BYTES]);
TEE_Result point_make(struct pair *pair);
/* Z of one's own pair and another's point. */
TEE_Result point_agree(const struct pair *pair, const uint8_t point[KEYCACHE_POINT_BYTES], uint8_t z[DIGEST_BYTES]);
/* The key that comes of `z`, one Z or two of them, and what it is for. */
void point_key(const uint8_t *z, size_t z_bytes, const void *info, size_t info_bytes, uint8_t key[DIGEST_BYTES]);
/* KEYCACHE_UNTRUSTED */
TEE_Result point_verify(const uint8_t signer[KEYCACHE_POINT_BYTES], const void *statement, size_t bytes,
			const uint8_t signature[KEYCACHE_SIGNATURE_BYTES]);

TEE_Result point_seal(const uint8_t with[DIGEST_BYTES], const struct sealed_key *sealed,
		      const uint8_t key[KEYCACHE_KEY_BYTES]);
/* A tag of additional data alone: no key is sealed with its nonce. */
TEE_Result point_mark(const uint8_t with[DIGEST_BYTES], const void *aad, size_t aad_bytes,
		      uint8_t tag[KEYCACHE_TAG_BYTES]);
/* KEYCACHE_FORGED */
TEE_Result point_unseal(const uint8_t with[DIGEST_BYTES], const struct sealed_key *sealed,
			uint8_t key[KEYCACHE_KEY_BYTES]);

#endif /* KEYCACHE_POINTS_H */
