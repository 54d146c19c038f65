/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "c25519"
title = "c25519"
about = "Daniel Beer's small Ed25519 and X25519, in portable C (Monocypher's crate has it for its tests)"
licence = "public domain"
constant_time = "yes: ed25519.h, f25519.h"
[source]
crate = "monocypher-sys"
version = "4.0.2"
sha256 = "dc11b58afcc9e7b8dc05ae2a2050b5a7a368ba1155bc0f9b1ad81ccedf5f1c96"
[build]
sources = [
  "Monocypher/tests/externals/c25519/c25519.c",
  "Monocypher/tests/externals/c25519/ed25519.c",
  "Monocypher/tests/externals/c25519/edsign.c",
  "Monocypher/tests/externals/c25519/f25519.c",
  "Monocypher/tests/externals/c25519/fprime.c",
  "Monocypher/tests/externals/c25519/sha512.c",
]
include = ["Monocypher/tests/externals/c25519"]
[operations]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
none = ["sha512"]
*/
#include <string.h>

#include "ops.h"

#include "c25519.h"
#include "edsign.h"
#include "sha512.h"

const char ops_name[] = "c25519";

int ops_open(void)
{
	return 0;
}

#if OPS_CURVE == OPS_CURVE_ED25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	ops_random(private_key, OPS_PRIVATE_BYTES);
	edsign_sec_to_pub(public_key, private_key);
	return 0;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	edsign_sign(signature, public_key, private_key, message, length);
	return 0;
}

/* Whether S is below the group's order, as RFC 8032, section 5.1.7 demands: edsign_verify() takes any S. */
static int in_range(const uint8_t s[32])
{
	static const uint8_t order[32] = { 0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,       0xd6,
					   0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10 };

	for (int i = 31; i >= 0; i--)
		if (s[i] != order[i])
			return s[i] < order[i];
	return 0;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	if (!in_range(signature + 32))
		return 1;
	return edsign_verify(signature, public_key, message, length) ? 0 : 1;
}

#elif OPS_CURVE == OPS_CURVE_X25519

/* c25519_smult() takes a scalar that c25519_prepare() has been through; the copy leaves the caller's as it was. */
static void multiply(uint8_t result[OPS_SECRET_BYTES], const uint8_t point[OPS_PUBLIC_BYTES],
		     const uint8_t private_key[OPS_PRIVATE_BYTES])
{
	uint8_t scalar[OPS_PRIVATE_BYTES];

	memcpy(scalar, private_key, sizeof(scalar));
	c25519_prepare(scalar);
	c25519_smult(result, point, scalar);
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	ops_random(private_key, OPS_PRIVATE_BYTES);
	multiply(public_key, c25519_base_x, private_key);
	return 0;
}

/* A secret of zeros comes from a peer of low order (RFC 7748, section 6.1): the library leaves that to its caller. */
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	static const uint8_t zeros[OPS_SECRET_BYTES];

	multiply(secret, peer, private_key);
	return f25519_eq(secret, zeros) ? -1 : 0;
}

#elif OPS_CURVE == OPS_CURVE_NONE

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	struct sha512_state state;
	size_t done = 0;

	sha512_init(&state);
	for (; length - done >= SHA512_BLOCK_SIZE; done += SHA512_BLOCK_SIZE)
		sha512_block(&state, message + done);
	sha512_final(&state, message + done, length);
	sha512_get(&state, digest, 0, SHA512_HASH_SIZE);
	return 0;
}

#else
#error "c25519 has no such curve"
#endif /* OPS_CURVE */
