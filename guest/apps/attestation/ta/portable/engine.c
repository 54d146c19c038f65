/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that is compiled into the TA does the work, by ops.h. OP-TEE's cryptography takes no part. */
#include "engine.h"

#include "trial.h"

struct engine {
	uint8_t private_key[ATTEST_SCALAR];
	uint8_t public_key[ATTEST_POINT];
	bool ready; /* there is a key */
};

/* A session is opened outside of all that is measured: here the library is opened, and tried on known answers. */
TEE_Result engine_open(struct engine **engine)
{
	const char *problem = trial_open();

	if (problem) {
		EMSG("check failed: %s", problem);
		return TEE_ERROR_BAD_STATE;
	}
	*engine = TEE_Malloc(sizeof(**engine), TEE_MALLOC_FILL_ZERO);
	return *engine ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

void engine_close(struct engine *e)
{
	TEE_Free(e);
}

bool engine_ready(const struct engine *e)
{
	return e->ready;
}

TEE_Result engine_keygen(struct engine *e, struct bench_span *span)
{
	int result;

	span->begin = bench_region_begin();
	result = ops_keygen(e->private_key, e->public_key);
	span->end = bench_region_end();
	e->ready = !result;
	return result ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

TEE_Result engine_export(struct engine *e, uint8_t public_key[ATTEST_POINT], uint8_t private_key[ATTEST_SCALAR])
{
	TEE_MemMove(public_key, e->public_key, ATTEST_POINT);
	TEE_MemMove(private_key, e->private_key, ATTEST_SCALAR);
	return TEE_SUCCESS;
}

TEE_Result engine_sign(struct engine *e, const void *message, size_t length, uint8_t signature[ATTEST_POINT],
		       struct bench_span *span)
{
	int result;

	span->begin = bench_region_begin();
	result = ops_sign(e->private_key, e->public_key, message, length, signature);
	span->end = bench_region_end();
	return result ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

TEE_Result engine_verify(struct engine *e, const void *message, size_t length, const uint8_t signature[ATTEST_POINT],
			 struct bench_span *span)
{
	int result;

	span->begin = bench_region_begin();
	result = ops_verify(e->public_key, message, length, signature);
	span->end = bench_region_end();
	if (result == 1)
		return TEE_ERROR_SIGNATURE_INVALID;
	return result ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}
