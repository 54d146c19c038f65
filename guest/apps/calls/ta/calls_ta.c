/* SPDX-License-Identifier: BSD-2-Clause */
/* A TA to be called: what a call costs by itself, and what bringing a payload costs. */
#include <tee_internal_api_extensions.h>

#include "app_ta.h"
#include "calls.h"

static uint8_t block[CALLS_BLOCK];
static size_t last; /* bytes of it that the last READ left */

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	(void)params;
	(void)context;
	if (types != TEE_PARAM_TYPES(NONE, NONE, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	/* Nobody is to get what another session's payload left. */
	TEE_MemFill(block, 0, sizeof(block));
	last = 0;
	return TEE_SUCCESS;
}

void TA_CloseSessionEntryPoint(void *context)
{
	(void)context;
}

static TEE_Result nothing(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	(void)params;
	return TEE_SUCCESS;
}

static TEE_Result read_payload(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	const uint8_t *payload = params[0].memref.buffer;
	size_t left = params[0].memref.size;
	uint64_t begin;
	uint64_t end;

	(void)session;
	if (!left)
		return TEE_ERROR_BAD_PARAMETERS;
	begin = bench_region_begin();
	for (;;) {
		size_t piece = left < sizeof(block) ? left : sizeof(block);

		TEE_MemMove(block, payload, piece);
		left -= piece;
		if (!left) {
			last = piece;
			break;
		}
		payload += piece;
	}
	end = bench_region_end();
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result give_last(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	if (!last)
		return TEE_ERROR_BAD_STATE;
	if (params[0].memref.size < sizeof(block))
		return TEE_ERROR_SHORT_BUFFER;
	TEE_MemMove(params[0].memref.buffer, block, last);
	params[0].memref.size = last;
	return TEE_SUCCESS;
}

static TEE_Result hash(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	const uint8_t *payload = params[0].memref.buffer;
	uint32_t value = CALLS_HASH_BEGIN;

	(void)session;
	if (!params[0].memref.size)
		return TEE_ERROR_BAD_PARAMETERS;
	for (size_t i = 0; i < params[0].memref.size; i++)
		value = (value ^ payload[i]) * CALLS_HASH_FACTOR;
	params[1].value.a = value;
	params[1].value.b = 0;
	return TEE_SUCCESS;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[CALLS_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
		[CALLS_VALUES] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), nothing },
		[CALLS_VALUES + 1] = { TEE_PARAM_TYPES(VALUE_IN, NONE, NONE, NONE), nothing },
		[CALLS_VALUES + 2] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, NONE, NONE), nothing },
		[CALLS_VALUES + 3] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_IN, NONE), nothing },
		[CALLS_VALUES + 4] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_IN, VALUE_IN), nothing },
		[CALLS_SHARE] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), nothing },
		[CALLS_SHARE + 1] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, NONE, NONE), nothing },
		[CALLS_SHARE + 2] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, VALUE_IN, NONE), nothing },
		[CALLS_SHARE + 3] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, VALUE_IN, VALUE_IN), nothing },
		[CALLS_READ] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, VALUE_OUT, VALUE_OUT), read_payload },
		[CALLS_LAST] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), give_last },
		[CALLS_HASH] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_OUT, NONE, NONE), hash },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
