/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA of the smallest app. */
#include "hello.h"
#include "stateless_ta.h"

static TEE_Result increment(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	uint64_t begin;
	uint64_t end;

	(void)session;
	begin = bench_region_begin();
	params[0].value.a++;
	end = bench_region_end();
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[HELLO_INCREMENT] = { TEE_PARAM_TYPES(VALUE_INOUT, NONE, VALUE_OUT, VALUE_OUT), increment },
		[HELLO_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
