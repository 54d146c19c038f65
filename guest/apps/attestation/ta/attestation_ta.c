/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attestation as a trusted application: keys stay here, and each operation is measured from where the TA stands. A
 * session has its own key.
 */
#include "app_ta.h"
#include "attestation.h"
#include "engine.h"
#include "storage.h"

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	struct engine *engine = NULL;
	TEE_Result res;

	(void)params;
	if (types != TEE_PARAM_TYPES(NONE, NONE, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	res = engine_open(&engine);
	*context = engine;
	return res;
}

void TA_CloseSessionEntryPoint(void *context)
{
	engine_close(context);
	storage_close();
}

static TEE_Result empty(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	(void)params;
	return TEE_SUCCESS;
}

static TEE_Result panic(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	(void)params;
	TEE_Panic(0xbad);
	return TEE_ERROR_GENERIC;
}

static TEE_Result keygen(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct bench_span span = { 0 };
	TEE_Result res = engine_keygen(session, &span);

	ta_give_span(params, span.begin, span.end);
	return res;
}

static TEE_Result export_key(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	if (!engine_ready(session))
		return TEE_ERROR_BAD_STATE;
	if (params[0].memref.size != ATTEST_POINT || params[1].memref.size != ATTEST_SCALAR)
		return TEE_ERROR_BAD_PARAMETERS;
	return engine_export(session, params[0].memref.buffer, params[1].memref.buffer);
}

static TEE_Result sign(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct bench_span span = { 0 };
	TEE_Result res;

	if (!engine_ready(session))
		return TEE_ERROR_BAD_STATE;
	if (params[1].memref.size != ATTEST_POINT)
		return TEE_ERROR_BAD_PARAMETERS;
	res = engine_sign(session, params[0].memref.buffer, params[0].memref.size, params[1].memref.buffer, &span);
	ta_give_span(params, span.begin, span.end);
	return res;
}

static TEE_Result verify(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct bench_span span = { 0 };
	TEE_Result res;

	if (!engine_ready(session))
		return TEE_ERROR_BAD_STATE;
	if (params[1].memref.size != ATTEST_POINT)
		return TEE_ERROR_BAD_PARAMETERS;
	res = engine_verify(session, params[0].memref.buffer, params[0].memref.size, params[1].memref.buffer, &span);
	ta_give_span(params, span.begin, span.end);
	return res;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[ATTEST_EMPTY] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), empty },
		[ATTEST_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
		[ATTEST_KEYGEN] = { TEE_PARAM_TYPES(NONE, NONE, VALUE_OUT, VALUE_OUT), keygen },
		[ATTEST_EXPORT] = { TEE_PARAM_TYPES(MEMORY_OUT, MEMORY_OUT, NONE, NONE), export_key },
		[ATTEST_SIGN] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), sign },
		[ATTEST_VERIFY] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, VALUE_OUT, VALUE_OUT), verify },
		[ATTEST_PANIC] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), panic },
		[ATTEST_STORAGE_CREATE] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, VALUE_OUT, VALUE_OUT), storage_create },
		[ATTEST_STORAGE_READ] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), storage_read },
		[ATTEST_STORAGE_DELETE] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), storage_delete },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
