/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known answers, and wrong input that must be refused, in the manner of Wycheproof's tests: an implementation that gives no
 * right answer, or accepts anything, is not measured.
 */
#include "known.h"

#include <string.h>

#include "frame.h"

#if FRAME_HAS_SIGN
#if FRAME_WEIERSTRASS
#define NUMBER OPS_ORDER_BYTES
static const uint8_t sample[] = { 's', 'a', 'm', 'p', 'l', 'e' };

static int rejects(const uint8_t *signature)
{
	return ops_verify(known_public, sample, sizeof(sample), signature) == 1;
}

/* r and s as they are given; NULL for the known one. */
static int rejects_numbers(const uint8_t *r, const uint8_t *s)
{
	uint8_t signature[OPS_SIGNATURE_BYTES];

	memcpy(signature, r ? r : known_signature, NUMBER);
	memcpy(signature + NUMBER, s ? s : known_signature + NUMBER, NUMBER);
	return rejects(signature);
}

static void known_signatures_of(const char *measure)
{
	static const uint8_t zero[NUMBER];
	uint8_t public_key[OPS_PUBLIC_BYTES];
	uint8_t signature[OPS_SIGNATURE_BYTES];
	uint8_t largest[NUMBER];
	uint8_t other[sizeof(sample)];

	frame_check("known-answer", measure, ops_verify(known_public, sample, sizeof(sample), known_signature) == 0);

	memcpy(signature, known_signature, sizeof(signature));
	signature[OPS_SIGNATURE_BYTES - 1] ^= 1;
	frame_check("modified-signature-rejected", measure, rejects(signature));
	memcpy(other, sample, sizeof(sample));
	other[0] ^= 1;
	frame_check("modified-message-rejected", measure,
		    ops_verify(known_public, other, sizeof(other), known_signature) == 1);

	memset(largest, 0xff, sizeof(largest));
	memcpy(public_key, known_public, sizeof(public_key));
	public_key[OPS_PUBLIC_BYTES - 1] ^= 1; /* no longer a point of the curve */
	frame_check("invalid-signatures-rejected", measure,
		    rejects_numbers(zero, NULL) && rejects_numbers(NULL, zero) && rejects_numbers(zero, zero) &&
			    rejects_numbers(known_order, NULL) && rejects_numbers(NULL, known_order) &&
			    rejects_numbers(largest, NULL) && rejects_numbers(NULL, largest) &&
			    rejects_numbers(known_signature + NUMBER, known_signature) &&
			    ops_verify(public_key, sample, sizeof(sample), known_signature) == 1);
}
#else
static void known_signatures_of(const char *measure)
{
	const struct known_signature *first = &known_signatures[0];
	uint8_t signature[OPS_SIGNATURE_BYTES];
	uint8_t zero[OPS_SIGNATURE_BYTES] = { 0 };
	unsigned int carry = 0;
	int ok = 1;

	for (size_t i = 0; i < sizeof(known_signatures) / sizeof(known_signatures[0]); i++) {
		const struct known_signature *known = &known_signatures[i];

#ifdef FRAME_HEDGED
		/* The library adds random bytes to the nonce: its signatures are right without being the known ones. */
		ok = ok && !ops_sign(known->private_key, known->public_key, known->message, known->length, signature) &&
		     !ops_verify(known->public_key, known->message, known->length, signature) &&
		     !ops_verify(known->public_key, known->message, known->length, known->signature);
#else
		/* Ed25519 has one right signature. */
		ok = ok && !ops_sign(known->private_key, known->public_key, known->message, known->length, signature) &&
		     !memcmp(signature, known->signature, sizeof(signature));
#endif /* FRAME_HEDGED */
	}
	ok = ok && !ops_verify(first->public_key, first->message, first->length, first->signature);
	frame_check("known-answer", measure, ok);

	memcpy(signature, first->signature, sizeof(signature));
	signature[OPS_SIGNATURE_BYTES / 2] ^= 1;
	frame_check("modified-signature-rejected", measure,
		    ops_verify(first->public_key, first->message, first->length, signature) == 1);
	frame_check("modified-message-rejected", measure,
		    ops_verify(first->public_key, first->message, first->length + 1u, first->signature) == 1);

	/* S plus the group's order: RFC 8032, 5.1.7 asks for S to be less than it, or a signature could be altered. */
	memcpy(signature, first->signature, sizeof(signature));
	for (size_t i = 0; i < 32; i++) {
		carry += signature[32 + i] + known_order[i];
		signature[32 + i] = (uint8_t)carry;
		carry >>= 8;
	}
	frame_check("invalid-signatures-rejected", measure,
		    ops_verify(first->public_key, first->message, first->length, signature) == 1 &&
			    ops_verify(first->public_key, first->message, first->length, zero) == 1);
}
#endif /* FRAME_WEIERSTRASS */
#endif /* FRAME_HAS_SIGN */

#if FRAME_HAS_ECDH
static void known_secret_of(const char *measure)
{
	uint8_t secret[OPS_SECRET_BYTES];

	frame_check("known-answer", measure,
		    !ops_ecdh(known_private, known_peer, secret) && !memcmp(secret, known_secret, sizeof(secret)));
#if FRAME_WEIERSTRASS
	uint8_t peer[OPS_PUBLIC_BYTES];

	memcpy(peer, known_peer, sizeof(peer));
	peer[OPS_PUBLIC_BYTES - 1] ^= 1;
	frame_check("invalid-point-rejected", measure, ops_ecdh(known_private, peer, secret) != 0);
#endif /* FRAME_WEIERSTRASS */
}
#endif /* FRAME_HAS_ECDH */

#if FRAME_HAS_SHA256 || FRAME_HAS_SHA512
static const uint8_t abc[] = { 'a', 'b', 'c' };
#endif /* FRAME_HAS_SHA256 || FRAME_HAS_SHA512 */

#if FRAME_HAS_SHA256
static void known_sha256(void)
{
	/* FIPS 180-4's example of one block. */
	static const uint8_t known[32] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
		0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
	};
	uint8_t digest[sizeof(known)];

	frame_check("known-answer", "hash",
		    !ops_sha256(abc, sizeof(abc), digest) && !memcmp(digest, known, sizeof(known)));
}
#endif /* FRAME_HAS_SHA256 */

#if FRAME_HAS_SHA512
static void known_sha512(void)
{
	/* FIPS 180-4's example of one block. */
	static const uint8_t known[64] = {
		0xdd, 0xaf, 0x35, 0xa1, 0x93, 0x61, 0x7a, 0xba, 0xcc, 0x41, 0x73, 0x49, 0xae, 0x20, 0x41, 0x31,
		0x12, 0xe6, 0xfa, 0x4e, 0x89, 0xa9, 0x7e, 0xa2, 0x0a, 0x9e, 0xee, 0xe6, 0x4b, 0x55, 0xd3, 0x9a,
		0x21, 0x92, 0x99, 0x2a, 0x27, 0x4f, 0xc1, 0xa8, 0x36, 0xba, 0x3c, 0x23, 0xa3, 0xfe, 0xeb, 0xbd,
		0x45, 0x4d, 0x44, 0x23, 0x64, 0x3c, 0xe8, 0x0e, 0x2a, 0x9a, 0xc9, 0x4f, 0xa5, 0x4c, 0xa4, 0x9f,
	};
	uint8_t digest[sizeof(known)];

	frame_check("known-answer", "hash",
		    !ops_sha512(abc, sizeof(abc), digest) && !memcmp(digest, known, sizeof(known)));
}
#endif /* FRAME_HAS_SHA512 */

#if FRAME_HAS_AES128 || FRAME_HAS_AES256
/* SP 800-38A, F.5: the first block of its example, and the counter before it. */
static const uint8_t aes_block[16] = {
	0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
};
static const uint8_t aes_counter[16] = {
	0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,
};

static void known_aes(const uint8_t *key, size_t key_bytes, const uint8_t known[16])
{
	uint8_t output[16];

	frame_check("known-answer", "encrypt",
		    !ops_aes_ctr(key, key_bytes, aes_counter, aes_block, sizeof(aes_block), output) &&
			    !memcmp(output, known, sizeof(output)));
}
#endif /* FRAME_HAS_AES128 || FRAME_HAS_AES256 */

#if FRAME_HAS_AES128
static void known_aes128(void)
{
	static const uint8_t key[16] = {
		0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c,
	};
	static const uint8_t known[16] = {
		0x87, 0x4d, 0x61, 0x91, 0xb6, 0x20, 0xe3, 0x26, 0x1b, 0xef, 0x68, 0x64, 0x99, 0x0d, 0xb6, 0xce,
	};

	known_aes(key, sizeof(key), known);
}
#endif /* FRAME_HAS_AES128 */

#if FRAME_HAS_AES256
static void known_aes256(void)
{
	static const uint8_t key[32] = {
		0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
		0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4,
	};
	static const uint8_t known[16] = {
		0x60, 0x1e, 0xc3, 0x13, 0x77, 0x57, 0x89, 0xa5, 0xb7, 0xa7, 0xf5, 0x04, 0xbb, 0xf3, 0xd2, 0x28,
	};

	known_aes(key, sizeof(key), known);
}
#endif /* FRAME_HAS_AES256 */

void known_answers(const char *operation)
{
#if FRAME_HAS_SIGN
	if (!strcmp(operation, "sign") || !strcmp(operation, "verify"))
		known_signatures_of(operation);
#endif /* FRAME_HAS_SIGN */
#if FRAME_HAS_ECDH
	if (!strcmp(operation, "ecdh"))
		known_secret_of(operation);
#endif /* FRAME_HAS_ECDH */
#if FRAME_HAS_SHA256
	if (!strcmp(operation, "sha256"))
		known_sha256();
#endif /* FRAME_HAS_SHA256 */
#if FRAME_HAS_SHA512
	if (!strcmp(operation, "sha512"))
		known_sha512();
#endif /* FRAME_HAS_SHA512 */
#if FRAME_HAS_AES128
	if (!strcmp(operation, "aes128"))
		known_aes128();
#endif /* FRAME_HAS_AES128 */
#if FRAME_HAS_AES256
	if (!strcmp(operation, "aes256"))
		known_aes256();
#endif /* FRAME_HAS_AES256 */
	(void)operation;
}
