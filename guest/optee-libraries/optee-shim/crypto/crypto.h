/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRYPTO_CRYPTO_H
#define CRYPTO_CRYPTO_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tee_api_defines.h>
#include <tee_api_types.h>

#define COMPILE_TIME_ASSERT(condition) _Static_assert(condition, #condition)

/* In OP-TEE's core this is its generator. */
TEE_Result crypto_rng_read(void *out, size_t length);

#endif /* CRYPTO_CRYPTO_H */
