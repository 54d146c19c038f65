/* SPDX-License-Identifier: BSD-2-Clause */
/* AES in counter mode: the same calls in both versions of mbed TLS. An adapter includes it where the function shall stand. */
#ifndef WORLDWISE_ADAPTERS_MBEDTLS_AES_H
#define WORLDWISE_ADAPTERS_MBEDTLS_AES_H

#include "mbedtls_common.h"

#define BITS_PER_BYTE 8
#define BLOCK_BYTES 16

int ops_aes_ctr(const uint8_t *key, size_t key_bytes, const uint8_t counter[16], const uint8_t *input, size_t length,
		uint8_t *output)
{
	uint8_t next[BLOCK_BYTES], stream[BLOCK_BYTES];
	mbedtls_aes_context context;
	size_t offset = 0;
	int result;

	memcpy(next, counter, sizeof(next));
	mbedtls_aes_init(&context);
	result = mbedtls_aes_setkey_enc(&context, key, (unsigned int)key_bytes * BITS_PER_BYTE);
	if (!result)
		result = mbedtls_aes_crypt_ctr(&context, length, &offset, next, stream, input, output);
	mbedtls_aes_free(&context);
	return result;
}

#endif /* WORLDWISE_ADAPTERS_MBEDTLS_AES_H */
