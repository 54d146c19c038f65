/* SPDX-License-Identifier: BSD-2-Clause */
/* The library as the non-secure program sees it: the interface of ops.h, each call through the gate. */
#include <stddef.h>
#include <stdint.h>

#include "../adapters/ops.h"
#include "library.h"

#ifndef LIBRARY_NAME
#error "LIBRARY_NAME must be the name of the library behind the gateway"
#endif /* LIBRARY_NAME */

const char ops_name[] = LIBRARY_NAME;

int ops_open(void)
{
	const struct library_request request = { .operation = LIBRARY_OPEN };

	return gate_library(&request);
}

#if FRAME_HAS_KEYGEN
int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_KEYGEN,
		.out = { { private_key, OPS_PRIVATE_BYTES }, { public_key, OPS_PUBLIC_BYTES } },
	};

	return gate_library(&request);
}
#endif /* FRAME_HAS_KEYGEN */

#if FRAME_HAS_SIGN
int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_SIGN,
		.in = { { private_key, OPS_PRIVATE_BYTES }, { public_key, OPS_PUBLIC_BYTES }, { message, length } },
		.out = { { signature, OPS_SIGNATURE_BYTES } },
	};

	return gate_library(&request);
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_VERIFY,
		.in = { { public_key, OPS_PUBLIC_BYTES }, { message, length }, { signature, OPS_SIGNATURE_BYTES } },
	};

	return gate_library(&request);
}
#endif /* FRAME_HAS_SIGN */

#if FRAME_HAS_ECDH
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_ECDH,
		.in = { { private_key, OPS_PRIVATE_BYTES }, { peer, OPS_PUBLIC_BYTES } },
		.out = { { secret, OPS_SECRET_BYTES } },
	};

	return gate_library(&request);
}
#endif /* FRAME_HAS_ECDH */

#if FRAME_HAS_SHA256 || FRAME_HAS_SHA512
static int hash(const uint8_t *message, size_t length, uint8_t *digest, size_t bytes)
{
	const struct library_request request = {
		.operation = LIBRARY_HASH,
		.in = { { message, length } },
		.out = { { digest, bytes } },
	};

	return gate_library(&request);
}
#endif /* FRAME_HAS_SHA256 || FRAME_HAS_SHA512 */

#if FRAME_HAS_SHA256
int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	return hash(message, length, digest, 32);
}
#endif /* FRAME_HAS_SHA256 */

#if FRAME_HAS_SHA512
int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	return hash(message, length, digest, 64);
}
#endif /* FRAME_HAS_SHA512 */

#if FRAME_HAS_AES128 || FRAME_HAS_AES256
int ops_aes_ctr(const uint8_t *key, size_t key_bytes, const uint8_t counter[16], const uint8_t *input, size_t length,
		uint8_t *output)
{
	const struct library_request request = {
		.operation = LIBRARY_AES,
		.in = { { key, key_bytes }, { counter, 16 }, { input, length } },
		.out = { { output, length } },
	};

	return gate_library(&request);
}
#endif /* FRAME_HAS_AES128 || FRAME_HAS_AES256 */

#if FRAME_HAS_DHRYSTONE
int ops_dhrystone(uint32_t runs)
{
	const struct library_request request = {
		.operation = LIBRARY_DHRYSTONE,
		.in = { { &runs, sizeof(runs) } },
	};

	return gate_library(&request);
}
#endif /* FRAME_HAS_DHRYSTONE */
