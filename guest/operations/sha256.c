/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 for libraries that have none: BearSSL's, the smallest that is well kept. */
#include <bearssl_hash.h>

#include "../adapters/ops.h"

void ops_frame_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	br_sha256_context context;

	br_sha256_init(&context);
	br_sha256_update(&context, message, length);
	br_sha256_out(&context, digest);
}
