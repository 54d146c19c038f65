/* SPDX-License-Identifier: BSD-2-Clause */
/* What the TAs of guest/apps share. Header only: each TA is built by the dev kit from its own folder. */
#ifndef WORLDWISE_APPS_APP_TA_H
#define WORLDWISE_APPS_APP_TA_H

#include <tee_internal_api.h>

#include "calibrate.h"

#define NONE TEE_PARAM_TYPE_NONE
#define VALUE_IN TEE_PARAM_TYPE_VALUE_INPUT
#define VALUE_OUT TEE_PARAM_TYPE_VALUE_OUTPUT
#define VALUE_INOUT TEE_PARAM_TYPE_VALUE_INOUT
#define MEMORY_IN TEE_PARAM_TYPE_MEMREF_INPUT
#define MEMORY_OUT TEE_PARAM_TYPE_MEMREF_OUTPUT
#define MEMORY_INOUT TEE_PARAM_TYPE_MEMREF_INOUT

/* A command: the one set of parameter types that it takes, and what it does. */
struct ta_command {
	uint32_t types;
	TEE_Result (*run)(void *session, TEE_Param params[TEE_NUM_PARAMS]);
};

/* Runs a command of a table by its number: a wrong number or wrong types get GlobalPlatform's errors for them. */
static inline TEE_Result ta_command(const struct ta_command *commands, size_t count, void *session, uint32_t command,
				    uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	if (command >= count || !commands[command].run)
		return TEE_ERROR_NOT_SUPPORTED;
	if (types != commands[command].types)
		return TEE_ERROR_BAD_PARAMETERS;
	return commands[command].run(session, params);
}

/* Gives the counter's readings in parameters 2 and 3. */
static inline void ta_give_span(TEE_Param params[TEE_NUM_PARAMS], uint64_t begin, uint64_t end)
{
	params[2].value.a = (uint32_t)begin;
	params[2].value.b = (uint32_t)(begin >> 32);
	params[3].value.a = (uint32_t)end;
	params[3].value.b = (uint32_t)(end >> 32);
}

/* Room for an output of `size` bytes: if there is too little, the answer says how much it takes. */
static inline TEE_Result ta_check_output(TEE_Param *param, size_t size)
{
	bool enough = param->memref.size >= size;

	param->memref.size = size;
	if (!enough)
		return TEE_ERROR_SHORT_BUFFER;
	return param->memref.buffer ? TEE_SUCCESS : TEE_ERROR_BAD_PARAMETERS;
}

/* The command that every app has: types VALUE_OUT, VALUE_OUT, NONE, NONE. */
static inline TEE_Result ta_calibrate(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);

	(void)session;
	params[0].value.a = (uint32_t)overhead.count;
	params[0].value.b = 0;
	params[1].value.a = (uint32_t)overhead.nested;
	params[1].value.b = 0;
	return TEE_SUCCESS;
}

#endif /* WORLDWISE_APPS_APP_TA_H */
