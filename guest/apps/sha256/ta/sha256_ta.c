/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SHA-256 of messages that come in pieces, measured by the cycle counter as on a board: `api` around the calls of the
 * GlobalPlatform API alone, `ta` around the whole command. What the TA keeps is one for all sessions: the benchmark has
 * one at a time.
 */
#include <pta_worldwise_counter.h>
#include <tee_internal_api.h>
#include <tee_internal_api_extensions.h>

#include "app_ta.h"
#include "opening_ta.h"
#include "sha256.h"

#define DIGEST_BYTES 32

static TEE_TASessionHandle counter;
static TEE_OperationHandle operation;
static struct sha256_spans spans;
/* PMCCNTR_EL0 may be read: without the pseudo-TA's leave a read traps, which ends the TA. */
static bool readable;

static TEE_Result call_counter(uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	return TEE_InvokeTACommand(counter, TEE_TIMEOUT_INFINITE, command, types, params, NULL);
}

/* Gets the counter's session and the digest's operation, which a service would keep between calls. */
static TEE_Result counter_enable(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	static const TEE_UUID uuid = PTA_WORLDWISE_COUNTER_UUID;
	TEE_Result res = TEE_SUCCESS;

	(void)session;
	(void)params;
	if (!counter)
		res = TEE_OpenTASession(&uuid, TEE_TIMEOUT_INFINITE, 0, NULL, &counter, NULL);
	if (!res)
		res = call_counter(PTA_WORLDWISE_COUNTER_ENABLE, 0, NULL);
	if (!res && !operation)
		res = TEE_AllocateOperation(&operation, TEE_ALG_SHA256, TEE_MODE_DIGEST, 0);
	if (!res)
		readable = true;
	return res;
}

static TEE_Result counter_restore(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	(void)params;
	readable = false;
	return counter ? call_counter(PTA_WORLDWISE_COUNTER_RESTORE, 0, NULL) : TEE_ERROR_BAD_STATE;
}

static TEE_Result counter_read(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	static const TEE_UUID uuid = PTA_WORLDWISE_COUNTER_UUID;
	TEE_Result res = TEE_SUCCESS;

	(void)session;
	if (!counter)
		res = TEE_OpenTASession(&uuid, TEE_TIMEOUT_INFINITE, 0, NULL, &counter, NULL);
	if (res)
		return res;
	return call_counter(PTA_WORLDWISE_COUNTER_READ, TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), params);
}

static TEE_Result counter_calibrate(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	volatile struct bench_span store[2];
	struct bench_total totals[2] = { 0 };
	struct sha256_overheads overheads;

	(void)session;
	if (!readable)
		return TEE_ERROR_BAD_STATE;
	if (params[0].memref.size != sizeof(overheads))
		return TEE_ERROR_BAD_PARAMETERS;
	bench_calibrate_cycles(store, totals, &overheads.api, &overheads.ta);
	TEE_MemMove(params[0].memref.buffer, &overheads, sizeof(overheads));
	return TEE_SUCCESS;
}

/* UPDATE and FINAL measure themselves, from their first instruction to their last but for the look whether they may. */
static TEE_Result digest_update(uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	uint64_t ta_begin;
	uint64_t api_begin;
	uint64_t api_end;
	uint64_t ta_end;

	if (!readable)
		return TEE_ERROR_BAD_STATE;
	ta_begin = bench_cycles_begin();
	if (!operation)
		return TEE_ERROR_BAD_STATE;
	if (types != TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;

	api_begin = bench_cycles_begin();
	TEE_DigestUpdate(operation, params[0].memref.buffer, params[0].memref.size);
	api_end = bench_cycles_end();

	ta_end = bench_cycles_end();
	bench_total_add(&spans.api, api_begin, api_end);
	bench_total_add(&spans.ta, ta_begin, ta_end);
	return TEE_SUCCESS;
}

static TEE_Result digest_final(uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	uint64_t ta_begin;
	uint64_t api_begin;
	uint64_t api_end;
	uint64_t ta_end;
	size_t size;
	TEE_Result res;

	if (!readable)
		return TEE_ERROR_BAD_STATE;
	ta_begin = bench_cycles_begin();
	if (!operation)
		return TEE_ERROR_BAD_STATE;
	if (types != TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	size = params[1].memref.size;
	if (size < DIGEST_BYTES)
		return TEE_ERROR_SHORT_BUFFER;

	api_begin = bench_cycles_begin();
	res = TEE_DigestDoFinal(operation, params[0].memref.buffer, params[0].memref.size, params[1].memref.buffer,
				&size);
	api_end = bench_cycles_end();

	params[1].memref.size = size;
	ta_end = bench_cycles_end();
	bench_total_add(&spans.api, api_begin, api_end);
	bench_total_add(&spans.ta, ta_begin, ta_end);
	return res;
}

static TEE_Result give_spans(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	if (params[0].memref.size != sizeof(spans))
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(params[0].memref.buffer, &spans, sizeof(spans));
	TEE_MemFill(&spans, 0, sizeof(spans));
	return TEE_SUCCESS;
}

static TEE_Result empty(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	(void)params;
	return TEE_SUCCESS;
}

void TA_CloseSessionEntryPoint(void *context)
{
	(void)context;
	readable = false;
	TEE_FreeOperation(operation);
	operation = TEE_HANDLE_NULL;
	/* The pseudo-TA puts the registers back when its session ends. */
	if (counter)
		TEE_CloseTASession(counter);
	counter = TEE_HANDLE_NULL;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[SHA256_EMPTY] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), empty },
		[SHA256_COUNTER_ENABLE] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), counter_enable },
		[SHA256_COUNTER_RESTORE] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), counter_restore },
		[SHA256_COUNTER] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), counter_read },
		[SHA256_CALIBRATE] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), counter_calibrate },
		[SHA256_SPANS] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), give_spans },
	};

	/* These come first, and check their parameters themselves: all that they do is in what they measure. */
	switch (command) {
	case SHA256_TOUCH:
		return TEE_SUCCESS;
	case SHA256_UPDATE:
		return digest_update(types, params);
	case SHA256_FINAL:
		return digest_final(types, params);
	default:
		return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
	}
}
