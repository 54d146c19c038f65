/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "nettle"
title = "Nettle"
about = "Debian's archives, with GMP; assembly, chosen by the CPU's features in hashes and AES; random nonces"
licence = "LGPL-3.0-or-later OR GPL-2.0-or-later"
constant_time = "yes: its manual, side-channel silence, of its curves"
[source]
packages = ["nettle-dev", "libgmp-dev"]
[build]
archives = ["libhogweed.a", "libnettle.a", "libgmp.a"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
secp384r1 = ["keygen", "sign", "verify", "ecdh"]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
none = ["sha256", "sha512", "aes128", "aes256"]
[needs]
linux = true
*/
/*
 * Only these calls are compiled here, whatever the optimisation. Points and scalars are read from bytes by every call,
 * which also checks that a public key is on the curve.
 */
#include <nettle/aes.h>
#include <nettle/bignum.h>
#include <nettle/ctr.h>
#include <nettle/curve25519.h>
#include <nettle/dsa.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecc.h>
#include <nettle/ecdsa.h>
#include <nettle/eddsa.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>

#include <string.h>

#include "ops.h"

#define FAILED (-1) /* the library tells success from failure, and no more */

const char ops_name[] = "nettle";

int ops_open(void)
{
	return 0;
}

#if OPS_CURVE == OPS_CURVE_SECP256R1 || OPS_CURVE == OPS_CURVE_SECP384R1

#if OPS_CURVE == OPS_CURVE_SECP256R1
#define CURVE nettle_get_secp_256r1()
#else
#define CURVE nettle_get_secp_384r1()
#endif /* OPS_CURVE */

static void generate(void *unused, size_t length, uint8_t *bytes)
{
	(void)unused;
	ops_random(bytes, length);
}

static void hash(const uint8_t *message, size_t length, uint8_t digest[SHA256_DIGEST_SIZE])
{
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, length, message);
	sha256_digest(&context, SHA256_DIGEST_SIZE, digest);
}

/* Makes and sets a scalar; returns 0 for one that is not in range. Cleared by the caller either way. */
static int read_scalar(struct ecc_scalar *scalar, const uint8_t bytes[OPS_PRIVATE_BYTES])
{
	mpz_t number;
	int good;

	nettle_mpz_init_set_str_256_u(number, OPS_PRIVATE_BYTES, bytes);
	ecc_scalar_init(scalar, CURVE);
	good = ecc_scalar_set(scalar, number);
	mpz_clear(number);
	return good;
}

/* The same for a point, which must be on the curve. */
static int read_point(struct ecc_point *point, const uint8_t bytes[OPS_PUBLIC_BYTES])
{
	mpz_t x, y;
	int good;

	nettle_mpz_init_set_str_256_u(x, OPS_BYTES, bytes);
	nettle_mpz_init_set_str_256_u(y, OPS_BYTES, bytes + OPS_BYTES);
	ecc_point_init(point, CURVE);
	good = ecc_point_set(point, x, y);
	mpz_clear(y);
	mpz_clear(x);
	return good;
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	struct ecc_scalar scalar;
	struct ecc_point point;
	mpz_t x, y;

	ecc_scalar_init(&scalar, CURVE);
	ecc_point_init(&point, CURVE);
	mpz_init(x);
	mpz_init(y);
	ecdsa_generate_keypair(&point, &scalar, NULL, generate);
	ecc_scalar_get(&scalar, x);
	nettle_mpz_get_str_256(OPS_PRIVATE_BYTES, private_key, x);
	ecc_point_get(&point, x, y);
	nettle_mpz_get_str_256(OPS_BYTES, public_key, x);
	nettle_mpz_get_str_256(OPS_BYTES, public_key + OPS_BYTES, y);
	mpz_clear(y);
	mpz_clear(x);
	ecc_point_clear(&point);
	ecc_scalar_clear(&scalar);
	return 0;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct dsa_signature pair;
	struct ecc_scalar scalar;
	int good;

	(void)public_key;
	hash(message, length, digest);
	good = read_scalar(&scalar, private_key);
	if (good) {
		dsa_signature_init(&pair);
		ecdsa_sign(&scalar, NULL, generate, sizeof(digest), digest, &pair);
		nettle_mpz_get_str_256(OPS_ORDER_BYTES, signature, pair.r);
		nettle_mpz_get_str_256(OPS_ORDER_BYTES, signature + OPS_ORDER_BYTES, pair.s);
		dsa_signature_clear(&pair);
	}
	ecc_scalar_clear(&scalar);
	return good ? 0 : FAILED;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct dsa_signature pair;
	struct ecc_point point;
	int good;

	hash(message, length, digest);
	good = read_point(&point, public_key);
	if (good) {
		dsa_signature_init(&pair);
		nettle_mpz_set_str_256_u(pair.r, OPS_ORDER_BYTES, signature);
		nettle_mpz_set_str_256_u(pair.s, OPS_ORDER_BYTES, signature + OPS_ORDER_BYTES);
		good = ecdsa_verify(&point, sizeof(digest), digest, &pair);
		dsa_signature_clear(&pair);
	}
	ecc_point_clear(&point);
	return good ? 0 : 1;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	struct ecc_point point, shared;
	struct ecc_scalar scalar;
	mpz_t x, y;
	int good = read_scalar(&scalar, private_key);

	good = read_point(&point, peer) && good;
	if (good) {
		ecc_point_init(&shared, CURVE);
		mpz_init(x);
		mpz_init(y);
		ecc_point_mul(&shared, &scalar, &point);
		ecc_point_get(&shared, x, y);
		nettle_mpz_get_str_256(OPS_SECRET_BYTES, secret, x);
		mpz_clear(y);
		mpz_clear(x);
		ecc_point_clear(&shared);
	}
	ecc_point_clear(&point);
	ecc_scalar_clear(&scalar);
	return good ? 0 : FAILED;
}

#elif OPS_CURVE == OPS_CURVE_ED25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	ops_random(private_key, OPS_PRIVATE_BYTES);
	ed25519_sha512_public_key(public_key, private_key);
	return 0;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	ed25519_sha512_sign(public_key, private_key, length, message, signature);
	return 0;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	return ed25519_sha512_verify(public_key, length, message, signature) ? 0 : 1;
}

#elif OPS_CURVE == OPS_CURVE_X25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	ops_random(private_key, OPS_PRIVATE_BYTES);
	curve25519_mul_g(public_key, private_key);
	return 0;
}

/* A peer of low order gives zeros (RFC 7748, section 6.1): the library leaves that to its caller. */
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	static const uint8_t zeros[OPS_SECRET_BYTES];

	curve25519_mul(secret, private_key, peer);
	return memeql_sec(secret, zeros, sizeof(zeros)) ? FAILED : 0;
}

#elif OPS_CURVE == OPS_CURVE_NONE

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, length, message);
	sha256_digest(&context, SHA256_DIGEST_SIZE, digest);
	return 0;
}

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	struct sha512_ctx context;

	sha512_init(&context);
	sha512_update(&context, length, message);
	sha512_digest(&context, SHA512_DIGEST_SIZE, digest);
	return 0;
}

static void encrypt128(const void *context, size_t length, uint8_t *output, const uint8_t *input)
{
	aes128_encrypt(context, length, output, input);
}

static void encrypt256(const void *context, size_t length, uint8_t *output, const uint8_t *input)
{
	aes256_encrypt(context, length, output, input);
}

int ops_aes_ctr(const uint8_t *key, size_t key_bytes, const uint8_t counter[16], const uint8_t *input, size_t length,
		uint8_t *output)
{
	uint8_t next[AES_BLOCK_SIZE];

	memcpy(next, counter, sizeof(next));
	if (key_bytes == AES128_KEY_SIZE) {
		struct aes128_ctx context;

		aes128_set_encrypt_key(&context, key);
		ctr_crypt(&context, encrypt128, AES_BLOCK_SIZE, next, length, output, input);
	} else {
		struct aes256_ctx context;

		aes256_set_encrypt_key(&context, key);
		ctr_crypt(&context, encrypt256, AES_BLOCK_SIZE, next, length, output, input);
	}
	return 0;
}

#else
#error "Nettle has no such curve"
#endif /* OPS_CURVE */
