/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "micro-ecc"
title = "micro-ecc"
about = "C; additions and products in Arm assembly for any size (uECC_OPTIMIZATION_LEVEL 2, its default)"
licence = "BSD-2-Clause"
constant_time = "resistant: known side channels, README"
[source]
crate = "micro-ecc-sys"
version = "0.3.2"
sha256 = "1b861c7e7eba25ec3fe0fde221a46bf38bd1ad200a5404b6f7e45c99b74a00fa"
[build]
sources = ["micro-ecc/uECC.c"]
include = ["micro-ecc"]
defines = [
  "uECC_SUPPORT_COMPRESSED_POINT=0",
  "uECC_SUPPORTS_secp160r1=(OPS_CURVE==1)", "uECC_SUPPORTS_secp192r1=(OPS_CURVE==2)",
  "uECC_SUPPORTS_secp224r1=(OPS_CURVE==3)", "uECC_SUPPORTS_secp256r1=(OPS_CURVE==4)",
  "uECC_SUPPORTS_secp256k1=(OPS_CURVE==6)",
]
[operations]
secp160r1 = ["keygen", "sign", "verify", "ecdh"]
secp192r1 = ["keygen", "sign", "verify", "ecdh"]
secp224r1 = ["keygen", "sign", "verify", "ecdh"]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
secp256k1 = ["keygen", "sign", "verify", "ecdh"]
[needs]
frame_sha256 = true
*/
/*
 * micro-ecc in its default configuration, less point compression, which nothing here calls. It chooses its assembly by
 * the core: Thumb-1 on the M0, Thumb-2 on the others. Products unrolled for a curve's size, with UMAAL where a core has
 * it, come only with uECC_OPTIMIZATION_LEVEL 3 and 4.
 */
#include <string.h>

#include "ops.h"
#include "uECC.h"

#define DIGEST_BYTES 32

#if OPS_CURVE == OPS_CURVE_SECP160R1
#define CURVE uECC_secp160r1()
#elif OPS_CURVE == OPS_CURVE_SECP192R1
#define CURVE uECC_secp192r1()
#elif OPS_CURVE == OPS_CURVE_SECP224R1
#define CURVE uECC_secp224r1()
#elif OPS_CURVE == OPS_CURVE_SECP256R1
#define CURVE uECC_secp256r1()
#elif OPS_CURVE == OPS_CURVE_SECP256K1
#define CURVE uECC_secp256k1()
#else
#error "micro-ecc has no such curve"
#endif /* OPS_CURVE */

#ifdef OPS_MICRO_ECC_FAST
const char ops_name[] = "micro-ecc-fast";
#else
const char ops_name[] = "micro-ecc";
#endif /* OPS_MICRO_ECC_FAST */

static int random_bytes(uint8_t *bytes, unsigned int length)
{
	ops_random(bytes, length);
	return 1;
}

/*
 * The generator is named by the operations that draw from it, not here: a program that only verifies is then linked
 * without it. That costs each of them a few instructions.
 */
int ops_open(void)
{
	return 0;
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	uECC_set_rng(random_bytes);
	return uECC_make_key(public_key, private_key, CURVE) ? 0 : -1;
}

/*
 * Random nonces, as uECC_sign() makes them. Its signatures are two numbers of the curve's size: on secp160r1, whose
 * order is one bit longer, it draws another nonce when s does not fit, so the two leading bytes here are always 0.
 */
int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

	(void)public_key;
	ops_frame_sha256(message, length, digest);
	uECC_set_rng(random_bytes);
	if (!uECC_sign(private_key, digest, sizeof(digest), signature, CURVE))
		return -1;
#if OPS_ORDER_BYTES != OPS_BYTES
	memmove(signature + OPS_ORDER_BYTES + 1, signature + OPS_BYTES, OPS_BYTES);
	memmove(signature + 1, signature, OPS_BYTES);
	signature[0] = 0;
	signature[OPS_ORDER_BYTES] = 0;
#endif /* an order longer than the field */
	return 0;
}

/* uECC_verify() leaves it to its caller to check the public key; what that costs is part of the figure. */
int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

#if OPS_ORDER_BYTES != OPS_BYTES
	uint8_t numbers[2 * OPS_BYTES];

	/* Longer numbers are below the order once in 2^79: micro-ecc does not have those. */
	if (signature[0] || signature[OPS_ORDER_BYTES])
		return 1;
	memcpy(numbers, signature + 1, OPS_BYTES);
	memcpy(numbers + OPS_BYTES, signature + OPS_ORDER_BYTES + 1, OPS_BYTES);
	signature = numbers;
#endif /* an order longer than the field */
	if (!uECC_valid_public_key(public_key, CURVE))
		return 1;
	ops_frame_sha256(message, length, digest);
	return uECC_verify(public_key, digest, sizeof(digest), signature, CURVE) ? 0 : 1;
}

/* uECC_shared_secret() leaves it to its caller to check the peer's key. It blinds with random bytes if it has some. */
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	uECC_set_rng(random_bytes);
	if (!uECC_valid_public_key(peer, CURVE))
		return -1;
	return uECC_shared_secret(peer, private_key, secret, CURVE) ? 0 : -1;
}
