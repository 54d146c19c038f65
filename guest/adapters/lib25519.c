/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "lib25519"
title = "lib25519"
about = "Debian's archive; assembly on AArch64, C (ref10) on Armv7; random bytes go into nonces, too"
licence = "LicenseRef-PD-hp OR CC0-1.0 OR 0BSD OR MIT-0 OR MIT"
constant_time = "yes: its documentation, security (but for what compilers add)"
[source]
packages = ["lib25519-dev"]
[build]
archives = ["lib25519.a"]
[operations]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
[needs]
linux = true
hedged = true
*/
/*
 * Only these calls are compiled here, whatever the optimisation. The library signs into, and opens, one string of
 * signature and message, so that every call copies the message to where the string is, and back. Its signatures are not
 * the ones of RFC 8032, though valid: it hashes random bytes into the nonce.
 */
#include <string.h>

#include <lib25519.h>

#include "ops.h"

#define LONGEST_MESSAGE 1024 /* the frame's */
#define FAILED (-1)

const char ops_name[] = "lib25519";

int ops_open(void)
{
	return 0;
}

/* What the library's header of random bytes makes of randombytes(), which it takes from its user. */
void randombytes_internal_void_voidstar_longlong(void *bytes, long long length);
void randombytes_internal_void_voidstar_longlong(void *bytes, long long length)
{
	ops_random(bytes, (size_t)length);
}

#if OPS_CURVE == OPS_CURVE_ED25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	uint8_t pair[lib25519_sign_SECRETKEYBYTES];

	lib25519_sign_keypair(public_key, pair);
	memcpy(private_key, pair, OPS_PRIVATE_BYTES);
	return 0;
}

/* The library's secret key is the seed and the public key, one after the other. */
int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t signed_message[OPS_SIGNATURE_BYTES + LONGEST_MESSAGE];
	uint8_t pair[lib25519_sign_SECRETKEYBYTES];
	long long signed_length;

	if (length > LONGEST_MESSAGE)
		return FAILED;
	memcpy(pair, private_key, OPS_PRIVATE_BYTES);
	memcpy(pair + OPS_PRIVATE_BYTES, public_key, OPS_PUBLIC_BYTES);
	lib25519_sign(signed_message, &signed_length, message, (long long)length, pair);
	memcpy(signature, signed_message, OPS_SIGNATURE_BYTES);
	return 0;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t signed_message[OPS_SIGNATURE_BYTES + LONGEST_MESSAGE];
	uint8_t opened[OPS_SIGNATURE_BYTES + LONGEST_MESSAGE];
	long long opened_length;

	if (length > LONGEST_MESSAGE)
		return FAILED;
	memcpy(signed_message, signature, OPS_SIGNATURE_BYTES);
	memcpy(signed_message + OPS_SIGNATURE_BYTES, message, length);
	if (lib25519_sign_open(opened, &opened_length, signed_message, (long long)(OPS_SIGNATURE_BYTES + length),
			       public_key))
		return 1;
	return 0;
}

#elif OPS_CURVE == OPS_CURVE_X25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	lib25519_dh_keypair(public_key, private_key);
	return 0;
}

/* A peer of low order gives zeros (RFC 7748, section 6.1): the library leaves that to its caller. */
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	static const uint8_t zeros[OPS_SECRET_BYTES];

	lib25519_dh(secret, peer, private_key);
	return lib25519_verify(secret, zeros) ? 0 : FAILED; /* 0: they are equal */
}

#else
#error "lib25519 has no such curve"
#endif /* OPS_CURVE */
