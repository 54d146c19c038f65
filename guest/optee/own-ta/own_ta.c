/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attestation as a trusted application that brings its own library: the same commands as those of ../ta/attest_ta.c,
 * measured at the same places, but what works is ops.h, compiled into the TA. OP-TEE's cryptography takes no part.
 */
#include <tee_internal_api.h>
#include <tee_internal_api_extensions.h>

#include "attest_ta.h"
#include "calibrate.h"
#include "own.h"

#define P256_BYTES 32

struct session {
	uint8_t private_key[P256_BYTES];
	uint8_t public_key[2 * P256_BYTES];
	bool ready; /* there is a key */
};

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

/* A session is opened outside of all that is measured: here the library is opened, and tried on known answers. */
TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	const char *problem;

	(void)params;
	if (types !=
	    TEE_PARAM_TYPES(TEE_PARAM_TYPE_NONE, TEE_PARAM_TYPE_NONE, TEE_PARAM_TYPE_NONE, TEE_PARAM_TYPE_NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	problem = own_open();
	if (problem) {
		EMSG("check failed: %s", problem);
		return TEE_ERROR_BAD_STATE;
	}
	*context = TEE_Malloc(sizeof(struct session), TEE_MALLOC_FILL_ZERO);
	return *context ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

void TA_CloseSessionEntryPoint(void *context)
{
	TEE_Free(context);
}

static void give_span(TEE_Param params[TEE_NUM_PARAMS], uint64_t begin, uint64_t end)
{
	params[2].value.a = (uint32_t)begin;
	params[2].value.b = (uint32_t)(begin >> 32);
	params[3].value.a = (uint32_t)end;
	params[3].value.b = (uint32_t)(end >> 32);
}

static TEE_Result calibrate(TEE_Param params[TEE_NUM_PARAMS])
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);

	params[0].value.a = (uint32_t)overhead.count;
	params[1].value.a = (uint32_t)overhead.nested;
	return TEE_SUCCESS;
}

static TEE_Result keygen(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	uint64_t begin;
	uint64_t end;
	int result;

	begin = bench_region_begin();
	result = ops_keygen(s->private_key, s->public_key);
	end = bench_region_end();
	give_span(params, begin, end);
	s->ready = !result;
	return result ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

static TEE_Result export_key(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	if (params[0].memref.size != sizeof(s->public_key) || params[1].memref.size != sizeof(s->private_key))
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(params[0].memref.buffer, s->public_key, sizeof(s->public_key));
	TEE_MemMove(params[1].memref.buffer, s->private_key, sizeof(s->private_key));
	return TEE_SUCCESS;
}

static TEE_Result sign(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	uint64_t begin;
	uint64_t end;
	int result;

	if (params[1].memref.size != 2 * P256_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	begin = bench_region_begin();
	result = ops_sign(s->private_key, s->public_key, params[0].memref.buffer, params[0].memref.size,
			  params[1].memref.buffer);
	end = bench_region_end();
	give_span(params, begin, end);
	return result ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

static TEE_Result verify(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	uint64_t begin;
	uint64_t end;
	int result;

	if (params[1].memref.size != 2 * P256_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	begin = bench_region_begin();
	result = ops_verify(s->public_key, params[0].memref.buffer, params[0].memref.size, params[1].memref.buffer);
	end = bench_region_end();
	give_span(params, begin, end);
	if (result == 1)
		return TEE_ERROR_SIGNATURE_INVALID;
	return result ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

#define NONE TEE_PARAM_TYPE_NONE
#define IN TEE_PARAM_TYPE_MEMREF_INPUT
#define OUT TEE_PARAM_TYPE_MEMREF_OUTPUT
#define VALUE TEE_PARAM_TYPE_VALUE_OUTPUT

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	/* The parameter types and the function of every command that works on the session's key. */
	static const struct {
		uint32_t types;
		TEE_Result (*run)(struct session *s, TEE_Param params[TEE_NUM_PARAMS]);
	} commands[] = {
		[ATTEST_KEYGEN] = { TEE_PARAM_TYPES(NONE, NONE, VALUE, VALUE), keygen },
		[ATTEST_EXPORT] = { TEE_PARAM_TYPES(OUT, OUT, NONE, NONE), export_key },
		[ATTEST_SIGN] = { TEE_PARAM_TYPES(IN, OUT, VALUE, VALUE), sign },
		[ATTEST_VERIFY] = { TEE_PARAM_TYPES(IN, IN, VALUE, VALUE), verify },
	};

	struct session *s = context;

	if (command == ATTEST_CALIBRATE)
		return types == TEE_PARAM_TYPES(VALUE, VALUE, NONE, NONE) ? calibrate(params)
									  : TEE_ERROR_BAD_PARAMETERS;
	if (command >= sizeof(commands) / sizeof(commands[0]) || !commands[command].run)
		return TEE_ERROR_NOT_SUPPORTED;
	if (types != commands[command].types)
		return TEE_ERROR_BAD_PARAMETERS;
	if (command != ATTEST_KEYGEN && !s->ready)
		return TEE_ERROR_BAD_STATE;
	return commands[command].run(s, params);
}
