/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRYPTO_CRYPTO_ACCEL_H
#define CRYPTO_CRYPTO_ACCEL_H

#include "crypto.h"

/* OP-TEE's own, compiled for Linux: core/arch/arm/crypto/sha256_armv8a_ce.c. */
void crypto_accel_sha256_compress(uint32_t state[8], const void *source, unsigned int block_count);

#endif /* CRYPTO_CRYPTO_ACCEL_H */
