/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mbed TLS leaves the work on a block to OP-TEE's core where that has an accelerated one. As there
 * (lib/libmbedtls/core/hash.c), it is one block a call.
 */
#include <crypto/crypto_accel.h>
#include <mbedtls/sha256.h>

int mbedtls_internal_sha256_process(mbedtls_sha256_context *context, const unsigned char block[64])
{
	crypto_accel_sha256_compress(context->MBEDTLS_PRIVATE(state), block, 1);
	return 0;
}
