/* SPDX-License-Identifier: BSD-2-Clause */
#include "more.h"

#include <tee_internal_api_extensions.h>

#include "attest_ta.h"

#define NONE TEE_PARAM_TYPE_NONE
#define IN TEE_PARAM_TYPE_MEMREF_INPUT
#define OUT TEE_PARAM_TYPE_MEMREF_OUTPUT
#define VALUE TEE_PARAM_TYPE_VALUE_OUTPUT

TEE_Result more_commands(uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct {
		uint32_t command;
		uint32_t types;
		TEE_Result (*run)(TEE_Param params[TEE_NUM_PARAMS]);
	} commands[] = {
		{ ATTEST_COUNTER_ENABLE, TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), counter_enable },
		{ ATTEST_COUNTER_RESTORE, TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), counter_restore },
		{ ATTEST_COUNTER, TEE_PARAM_TYPES(VALUE, VALUE, NONE, NONE), counter_read },
		{ ATTEST_CALIBRATE_CYCLES, TEE_PARAM_TYPES(OUT, NONE, NONE, NONE), counter_calibrate },
		{ ATTEST_SPANS, TEE_PARAM_TYPES(OUT, NONE, NONE, NONE), digest_spans },
		{ ATTEST_STORAGE_CREATE, TEE_PARAM_TYPES(IN, NONE, VALUE, VALUE), storage_create },
		{ ATTEST_STORAGE_READ, TEE_PARAM_TYPES(OUT, NONE, NONE, NONE), storage_read },
		{ ATTEST_STORAGE_DELETE, TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), storage_delete },
	};

	/* These come first, and check their parameters themselves: all that they do is in what they measure. */
	if (command == ATTEST_TOUCH)
		return TEE_SUCCESS;
	if (command == ATTEST_DIGEST_UPDATE)
		return digest_update(types, params);
	if (command == ATTEST_DIGEST_FINAL)
		return digest_final(types, params);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].command == command)
			return types == commands[i].types ? commands[i].run(params) : TEE_ERROR_BAD_PARAMETERS;
	return TEE_ERROR_NOT_SUPPORTED;
}
