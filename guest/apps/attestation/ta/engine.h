/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who works in the TA: OP-TEE's core by the GlobalPlatform API (gp/), or a library compiled into the TA (portable/). Each
 * measures its work alone, from where the TA stands: `span` has the counter around it.
 */
#ifndef WORLDWISE_APPS_ATTESTATION_ENGINE_H
#define WORLDWISE_APPS_ATTESTATION_ENGINE_H

#include <tee_internal_api.h>

#include "attestation.h"
#include "calibrate.h"

/* A session's key and what the engine keeps between calls. */
struct engine;

/* Opens an engine. It has no key. */
TEE_Result engine_open(struct engine **engine);

void engine_close(struct engine *engine);

/* Makes a key and keeps it for the calls that follow. */
TEE_Result engine_keygen(struct engine *engine, struct bench_span *span);

/* The rest works with that key, so engine_ready() must have said that it is there. */
TEE_Result engine_export(struct engine *engine, uint8_t public_key[ATTEST_POINT], uint8_t private_key[ATTEST_SCALAR]);

TEE_Result engine_sign(struct engine *engine, const void *message, size_t length, uint8_t signature[ATTEST_POINT],
		       struct bench_span *span);

/* TEE_ERROR_SIGNATURE_INVALID for a signature that is not valid. */
TEE_Result engine_verify(struct engine *engine, const void *message, size_t length,
			 const uint8_t signature[ATTEST_POINT], struct bench_span *span);

/* Whether there is a key. */
bool engine_ready(const struct engine *engine);

#endif /* WORLDWISE_APPS_ATTESTATION_ENGINE_H */
