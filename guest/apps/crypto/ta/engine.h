/* SPDX-License-Identifier: BSD-2-Clause */
/* Who works in the TA: OP-TEE's core by the GlobalPlatform API (gp.c), or a library compiled into the TA (portable.c). */
#ifndef WORLDWISE_APPS_CRYPTO_ENGINE_H
#define WORLDWISE_APPS_CRYPTO_ENGINE_H

#include <tee_internal_api.h>

#include "ops.h"

/* A session's key and what the engine keeps between calls. */
struct engine;

/* Opens an engine. It has no key. */
TEE_Result engine_new(struct engine **engine);

/* Takes NULL. */
void engine_free(struct engine *engine);

/* Where the library's random bytes come from: TEE_GenerateRandom, or the bench. TEE_ERROR_NOT_SUPPORTED in the core's. */
TEE_Result engine_random(bool from_tee);

/* Makes a key and keeps it for the calls that follow. */
TEE_Result engine_keygen(struct engine *engine, uint8_t private_key[OPS_PRIVATE_BYTES],
			 uint8_t public_key[OPS_PUBLIC_BYTES]);

/* The rest works with that key. What the curve lacks is TEE_ERROR_NOT_SUPPORTED. */
TEE_Result engine_sign(struct engine *engine, const uint8_t *message, size_t length,
		       uint8_t signature[OPS_SIGNATURE_BYTES]);

/* TEE_ERROR_SIGNATURE_INVALID for a signature that is not valid. */
TEE_Result engine_verify(struct engine *engine, const uint8_t *message, size_t length,
			 const uint8_t signature[OPS_SIGNATURE_BYTES]);

/* TEE_ERROR_BAD_PARAMETERS for a peer that is not on the curve or has a low order. */
TEE_Result engine_ecdh(struct engine *engine, const uint8_t peer[OPS_PUBLIC_BYTES], uint8_t secret[OPS_SECRET_BYTES]);

TEE_Result engine_digest(struct engine *engine, const uint8_t *message, size_t length, uint8_t digest[32]);

#endif /* WORLDWISE_APPS_CRYPTO_ENGINE_H */
