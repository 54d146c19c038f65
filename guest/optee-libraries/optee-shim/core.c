/* SPDX-License-Identifier: BSD-2-Clause */
/* What OP-TEE's crypto libraries expect of its core. */
#include <string.h>

#include <crypto/crypto.h>
#include <mempool.h>

#include "../entropy.h"

struct mempool *mempool_default;

TEE_Result crypto_rng_read(void *out, size_t length)
{
	return entropy_read(out, length) ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

void memzero_explicit(void *memory, size_t size);

void memzero_explicit(void *memory, size_t size)
{
	explicit_bzero(memory, size);
}
