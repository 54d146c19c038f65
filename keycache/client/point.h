/* SPDX-License-Identifier: BSD-2-Clause */
/* Points of P-256, and what is sealed for them: the other end of what the TA does (include/keycache_ta.h). */
#ifndef KEYCACHE_POINT_H
#define KEYCACHE_POINT_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keycache_ta.h"

#define DIGEST_BYTES 32u
#define SECRET_BYTES 32u
/* Two digits a byte, in groups of eight with a space between. */
#define FINGERPRINT_TEXT (2 * DIGEST_BYTES + 8)

bool point_is_none(const uint8_t point[KEYCACHE_POINT_BYTES]);
/* Of a pair, or of a public key. False if it is not of P-256. */
bool point_of_key(uint8_t point[KEYCACHE_POINT_BYTES], const EVP_PKEY *key);
/* NULL if it is not on the curve. */
EVP_PKEY *point_to_key(const uint8_t point[KEYCACHE_POINT_BYTES]);
bool point_digest(uint8_t digest[DIGEST_BYTES], const uint8_t point[KEYCACHE_POINT_BYTES]);
void point_fingerprint(char text[FINGERPRINT_TEXT], const uint8_t point[KEYCACHE_POINT_BYTES]);

bool point_sign(uint8_t signature[KEYCACHE_SIGNATURE_BYTES], EVP_PKEY *pair, const void *data, size_t size);

/* Keys by ECDH: of `pair` with one point, and then with another one, unless it is NULL. */
bool point_agree(uint8_t key[SECRET_BYTES], EVP_PKEY *pair, const uint8_t first[KEYCACHE_POINT_BYTES],
		 const uint8_t *second, const void *info, size_t info_size);

/* AES-256-GCM of a key and zeros behind it. */
bool point_seal(const uint8_t key[SECRET_BYTES], const uint8_t nonce[KEYCACHE_NONCE_BYTES], const void *aad,
		size_t aad_size, const uint8_t plain[KEYCACHE_KEY_BYTES], uint8_t sealed[KEYCACHE_KEY_BYTES],
		uint8_t tag[KEYCACHE_TAG_BYTES]);
/* Whether that is the tag of additional data and of no text, under a nonce of twelve bytes 255. */
bool point_is_marked(const uint8_t key[SECRET_BYTES], const void *aad, size_t aad_size,
		     const uint8_t tag[KEYCACHE_TAG_BYTES]);
bool point_open(const uint8_t key[SECRET_BYTES], const uint8_t nonce[KEYCACHE_NONCE_BYTES], const void *aad,
		size_t aad_size, const uint8_t sealed[KEYCACHE_KEY_BYTES], const uint8_t tag[KEYCACHE_TAG_BYTES],
		uint8_t plain[KEYCACHE_KEY_BYTES]);

#endif /* KEYCACHE_POINT_H */
