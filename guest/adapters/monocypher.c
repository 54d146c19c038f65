/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "monocypher"
title = "Monocypher"
about = "Portable C; Ed25519 with SHA-512 (its optional file), X25519 and SHA-512"
licence = "BSD-2-Clause OR CC0-1.0"
constant_time = "yes: its manual, intro(3)"
[source]
crate = "monocypher-sys"
version = "4.0.2"
sha256 = "dc11b58afcc9e7b8dc05ae2a2050b5a7a368ba1155bc0f9b1ad81ccedf5f1c96"
[build]
sources = ["Monocypher/src/monocypher.c", "Monocypher/src/optional/monocypher-ed25519.c"]
include = ["Monocypher/src", "Monocypher/src/optional"]
[operations]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
none = ["sha512"]
*/
#include <string.h>

#include "monocypher-ed25519.h"
#include "monocypher.h"
#include "ops.h"

const char ops_name[] = "monocypher";

int ops_open(void)
{
	return 0;
}

#if OPS_CURVE == OPS_CURVE_ED25519

#define SEED_BYTES 32

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	uint8_t seed[SEED_BYTES], pair[SEED_BYTES + OPS_PUBLIC_BYTES];

	ops_random(private_key, OPS_PRIVATE_BYTES);
	memcpy(seed, private_key, SEED_BYTES); /* which the library wipes */
	crypto_ed25519_key_pair(pair, public_key, seed);
	return 0;
}

/* The library's secret key is the seed and the public key, one after the other. */
int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t pair[SEED_BYTES + OPS_PUBLIC_BYTES];

	memcpy(pair, private_key, SEED_BYTES);
	memcpy(pair + SEED_BYTES, public_key, OPS_PUBLIC_BYTES);
	crypto_ed25519_sign(signature, pair, message, length);
	return 0;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	return crypto_ed25519_check(signature, public_key, message, length) ? 1 : 0;
}

#elif OPS_CURVE == OPS_CURVE_X25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	ops_random(private_key, OPS_PRIVATE_BYTES);
	crypto_x25519_public_key(public_key, private_key);
	return 0;
}

/* A secret of zeros comes from a peer of low order (RFC 7748, section 6.1): the library leaves that to its caller. */
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	static const uint8_t zeros[OPS_SECRET_BYTES];

	crypto_x25519(secret, private_key, peer);
	return crypto_verify32(secret, zeros) ? 0 : -1;
}

#elif OPS_CURVE == OPS_CURVE_NONE

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	crypto_sha512(digest, message, length);
	return 0;
}

#else
#error "Monocypher has no such curve"
#endif /* OPS_CURVE */
