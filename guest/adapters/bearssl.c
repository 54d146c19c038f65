/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "bearssl"
title = "BearSSL"
about = "Constant time; words of 15 bits on M0 and M3, of 31 on M4, M7 and M33; RFC 6979 nonces, AES without tables"
licence = "MIT"
constant_time = "yes: its page on constant-time code, bearssl.org"
[source]
debian = "bearssl"
[build]
include = ["inc", "src"]
[build.curve.secp256r1]
sources = [
  "src/ec/ec_p256_m15.c", "src/ec/ecdsa_i15_bits.c", "src/ec/ecdsa_i15_*_raw.c", "src/int/i15_*.c",
  "src/ec/ec_p256_m31.c", "src/ec/ecdsa_i31_bits.c", "src/ec/ecdsa_i31_*_raw.c", "src/int/i31_*.c",
  "src/int/i32_div32.c", "src/ec/ec_keygen.c", "src/ec/ec_pubkey.c", "src/ec/ec_secp*.c", "src/codec/ccopy.c",
  "src/codec/???32be.c", "src/codec/???64be.c", "src/hash/sha2small.c", "src/mac/hmac.c", "src/rand/hmac_drbg.c"
]
[build.curve.secp384r1]
sources = [
  "src/ec/ec_prime_i15.c", "src/ec/ecdsa_i15_bits.c", "src/ec/ecdsa_i15_*_raw.c", "src/int/i15_*.c",
  "src/ec/ec_prime_i31.c", "src/ec/ecdsa_i31_bits.c", "src/ec/ecdsa_i31_*_raw.c", "src/int/i31_*.c",
  "src/int/i32_div32.c", "src/ec/ec_keygen.c", "src/ec/ec_pubkey.c", "src/ec/ec_secp*.c", "src/codec/ccopy.c",
  "src/codec/???32be.c", "src/codec/???64be.c", "src/hash/sha2small.c", "src/mac/hmac.c", "src/rand/hmac_drbg.c"
]
[build.curve.x25519]
sources = [
  "src/ec/ec_c25519_m15.c", "src/ec/ec_c25519_m31.c", "src/ec/ec_keygen.c", "src/ec/ec_pubkey.c", "src/codec/ccopy.c"
]
[build.curve.none]
sources = [
  "src/hash/sha2*.c", "src/symcipher/aes_ct.c", "src/symcipher/aes_ct_ctr.c", "src/symcipher/aes_ct_enc.c",
  "src/codec/???32?e.c", "src/codec/???64be.c"
]
[build.lacks.dsp]
defines = ["BR_ARMEL_CORTEXM_GCC=1", "BR_LOMUL=1"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
secp384r1 = ["keygen", "sign", "verify", "ecdh"]
x25519 = ["keygen", "ecdh"]
none = ["sha256", "sha512", "aes128", "aes256"]
*/
/*
 * BearSSL has each of its curves twice. Which one a core gets follows its documentation (config.h and the page on
 * constant-time multiplication): the code for words of 15 bits where a product of 64 bits is missing (M0) or takes a
 * time that depends on its operands (M3), so where the DSP extension is missing, with its assembly for these cores; the
 * code for words of 31 bits elsewhere. The unused one is compiled and left out by the linker. For P-256 it has code of
 * its own, for P-384 its code for all prime fields.
 *
 * The library's signatures are deterministic, and its verification and ECDH refuse points that are not on the curve.
 */
#include <string.h>

#include <bearssl.h>

#include "ops.h"

#if OPS_CURVE == OPS_CURVE_SECP384R1
#define CURVE BR_EC_secp384r1
#define SHORT_WORDS br_ec_prime_i15
#define LONG_WORDS br_ec_prime_i31
#else
#define CURVE BR_EC_secp256r1
#define SHORT_WORDS br_ec_p256_m15
#define LONG_WORDS br_ec_p256_m31
#endif /* OPS_CURVE */

#if defined(BR_LOMUL) && BR_LOMUL
#define ARITHMETIC SHORT_WORDS
#define C25519 br_ec_c25519_m15
#define ECDSA_SIGN br_ecdsa_i15_sign_raw
#define ECDSA_VERIFY br_ecdsa_i15_vrfy_raw
#else
#define ARITHMETIC LONG_WORDS
#define C25519 br_ec_c25519_m31
#define ECDSA_SIGN br_ecdsa_i31_sign_raw
#define ECDSA_VERIFY br_ecdsa_i31_vrfy_raw
#endif /* BR_LOMUL */

#define FAILED (-1) /* the library tells success from failure, and no more */

const char ops_name[] = "bearssl";

int ops_open(void)
{
	return 0;
}

#if OPS_CURVE != OPS_CURVE_NONE

static void generate(const br_prng_class **generator, void *bytes, size_t length)
{
	(void)generator;
	ops_random(bytes, length);
}

/* br_ec_keygen() calls nothing else of a generator. */
static const br_prng_class frame_generator = { .context_size = sizeof(br_prng_class *), .generate = generate };

#endif /* OPS_CURVE_NONE */

#if OPS_CURVE == OPS_CURVE_SECP256R1 || OPS_CURVE == OPS_CURVE_SECP384R1

#define DIGEST_BYTES 32
#define POINT_BYTES (1 + OPS_PUBLIC_BYTES)

static void hash(const uint8_t *message, size_t length, uint8_t digest[DIGEST_BYTES])
{
	br_sha256_context context;

	br_sha256_init(&context);
	br_sha256_update(&context, message, length);
	br_sha256_out(&context, digest);
}

/* The library's points have SEC 1's first byte, 4 for an uncompressed one. */
static void prefix(uint8_t point[POINT_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES])
{
	point[0] = 4;
	memcpy(point + 1, public_key, OPS_PUBLIC_BYTES);
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	const br_prng_class *generator = &frame_generator;
	uint8_t point[POINT_BYTES];
	br_ec_private_key key;

	if (br_ec_keygen(&generator, &ARITHMETIC, &key, private_key, CURVE) != OPS_PRIVATE_BYTES ||
	    br_ec_compute_pub(&ARITHMETIC, NULL, point, &key) != sizeof(point))
		return FAILED;
	memcpy(public_key, point + 1, OPS_PUBLIC_BYTES);
	return 0;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t scalar[OPS_PRIVATE_BYTES], digest[DIGEST_BYTES];
	const br_ec_private_key key = { .curve = CURVE, .x = scalar, .xlen = sizeof(scalar) };

	(void)public_key;
	memcpy(scalar, private_key, sizeof(scalar));
	hash(message, length, digest);
	return ECDSA_SIGN(&ARITHMETIC, &br_sha256_vtable, digest, &key, signature) == OPS_SIGNATURE_BYTES ? 0 : FAILED;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t point[POINT_BYTES], digest[DIGEST_BYTES];
	const br_ec_public_key key = { .curve = CURVE, .q = point, .qlen = sizeof(point) };

	prefix(point, public_key);
	hash(message, length, digest);
	return ECDSA_VERIFY(&ARITHMETIC, digest, sizeof(digest), &key, signature, OPS_SIGNATURE_BYTES) == 1 ? 0 : 1;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	uint8_t point[POINT_BYTES];

	prefix(point, peer);
	if (ARITHMETIC.mul(point, sizeof(point), private_key, OPS_PRIVATE_BYTES, CURVE) != 1)
		return FAILED;
	memcpy(secret, point + 1, OPS_SECRET_BYTES);
	return 0;
}

#elif OPS_CURVE == OPS_CURVE_X25519

/* Scalars as well as points are RFC 7748's octet strings here, whatever the library's header says of scalars. */
int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	const br_prng_class *generator = &frame_generator;
	br_ec_private_key key;

	if (br_ec_keygen(&generator, &C25519, &key, private_key, BR_EC_curve25519) != OPS_PRIVATE_BYTES ||
	    br_ec_compute_pub(&C25519, NULL, public_key, &key) != OPS_PUBLIC_BYTES)
		return FAILED;
	return 0;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	uint8_t any = 0;

	memcpy(secret, peer, OPS_PUBLIC_BYTES);
	if (C25519.mul(secret, OPS_PUBLIC_BYTES, private_key, OPS_PRIVATE_BYTES, BR_EC_curve25519) != 1)
		return FAILED;
	/* A peer of low order gives zero whatever the scalar is. The library leaves it to its caller to notice. */
	for (size_t i = 0; i < OPS_SECRET_BYTES; i++)
		any |= secret[i];
	return any ? 0 : FAILED;
}

#elif OPS_CURVE == OPS_CURVE_NONE

#define NONCE_BYTES 12 /* of a counter's block; the other 4 bytes count, and wrap among themselves */

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	br_sha256_context context;

	br_sha256_init(&context);
	br_sha256_update(&context, message, length);
	br_sha256_out(&context, digest);
	return 0;
}

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	br_sha512_context context;

	br_sha512_init(&context);
	br_sha512_update(&context, message, length);
	br_sha512_out(&context, digest);
	return 0;
}

int ops_aes_ctr(const uint8_t *key, size_t key_bytes, const uint8_t counter[16], const uint8_t *input, size_t length,
		uint8_t *output)
{
	const uint8_t *last = counter + NONCE_BYTES;
	br_aes_ct_ctr_keys keys;

	/* It encrypts in place. */
	if (output != input)
		memcpy(output, input, length);
	br_aes_ct_ctr_init(&keys, key, key_bytes);
	br_aes_ct_ctr_run(&keys, counter,
			  (uint32_t)last[0] << 24 | (uint32_t)last[1] << 16 | (uint32_t)last[2] << 8 | last[3], output,
			  length);
	return 0;
}

#endif /* OPS_CURVE */
