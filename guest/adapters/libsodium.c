/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "libsodium"
title = "libsodium"
about = "Debian's archive; C for these operations on Arm (ref10)"
licence = "ISC"
constant_time = "yes: the page on features of NaCl, whose code it has"
[source]
packages = ["libsodium-dev"]
[build]
archives = ["libsodium.a"]
[operations]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
none = ["sha256", "sha512"]
[needs]
linux = true
*/
/* Only these calls are compiled here, whatever the optimisation. The library has no AES in counter mode. */
#include <string.h>

#include <sodium.h>

#include "ops.h"

const char ops_name[] = "libsodium";

static const char *name_of_random(void)
{
	return ops_name;
}

static uint32_t random_number(void)
{
	uint32_t number;

	ops_random((uint8_t *)&number, sizeof(number));
	return number;
}

static void random_bytes(void *const bytes, const size_t length)
{
	ops_random(bytes, length);
}

int ops_open(void)
{
	static randombytes_implementation frame_random = {
		.implementation_name = name_of_random,
		.random = random_number,
		.buf = random_bytes,
	};

	if (randombytes_set_implementation(&frame_random))
		return -1;
	return sodium_init() < 0 ? -1 : 0; /* 1: it was ready */
}

#if OPS_CURVE == OPS_CURVE_ED25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	uint8_t pair[crypto_sign_SECRETKEYBYTES];

	if (crypto_sign_keypair(public_key, pair))
		return -1;
	return crypto_sign_ed25519_sk_to_seed(private_key, pair);
}

/* The library's secret key is the seed and the public key, one after the other. */
int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t pair[crypto_sign_SECRETKEYBYTES];

	memcpy(pair, private_key, OPS_PRIVATE_BYTES);
	memcpy(pair + OPS_PRIVATE_BYTES, public_key, OPS_PUBLIC_BYTES);
	return crypto_sign_detached(signature, NULL, message, length, pair);
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	return crypto_sign_verify_detached(signature, message, length, public_key) ? 1 : 0;
}

#elif OPS_CURVE == OPS_CURVE_X25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	return crypto_box_keypair(public_key, private_key);
}

/* It refuses peers of low order. */
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	return crypto_scalarmult(secret, private_key, peer);
}

#elif OPS_CURVE == OPS_CURVE_NONE

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	return crypto_hash_sha256(digest, message, length);
}

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	return crypto_hash_sha512(digest, message, length);
}

#else
#error "libsodium has no such curve"
#endif /* OPS_CURVE */
