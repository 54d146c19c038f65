/* SPDX-License-Identifier: BSD-2-Clause */
/* micro-ecc on P-256 behind the interface that worldwise measures: the second example of docs/use/own.md. */
#include "ops.h"
#include "uECC.h"

#define DIGEST_BYTES 32

const char ops_name[] = "my-micro-ecc";

static int random_bytes(uint8_t *bytes, unsigned int length)
{
	ops_random(bytes, length);
	return 1;
}

int ops_open(void)
{
	uECC_set_rng(random_bytes);
	return 0;
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	return uECC_make_key(public_key, private_key, uECC_secp256r1()) ? 0 : -1;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

	(void)public_key;
	ops_frame_sha256(message, length, digest);
	return uECC_sign(private_key, digest, sizeof(digest), signature, uECC_secp256r1()) ? 0 : -1;
}

/* uECC_verify() takes any public key: a wrong one must be refused all the same. */
int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

	if (!uECC_valid_public_key(public_key, uECC_secp256r1()))
		return 1;
	ops_frame_sha256(message, length, digest);
	return uECC_verify(public_key, digest, sizeof(digest), signature, uECC_secp256r1()) ? 0 : 1;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	if (!uECC_valid_public_key(peer, uECC_secp256r1()))
		return -1;
	return uECC_shared_secret(peer, private_key, secret, uECC_secp256r1()) ? 0 : -1;
}
