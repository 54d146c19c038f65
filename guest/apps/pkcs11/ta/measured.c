/* SPDX-License-Identifier: BSD-2-Clause */
/* Between OP-TEE and its PKCS#11 TA: a region around each command. */
#include "measured.h"

#include <stdint.h>

static struct measured measured;
/* A new instance measures from its first command on: nobody can ask it to before it is there. */
static uint32_t armed = 1;

#define MEASURED_ARMED (*(volatile uint32_t *)&armed)
#include "../../common/measured_ta.h"

static TEE_Result take(uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_Result res = check_take(types, params, sizeof(measured));

	if (res)
		return res;
	measured.overhead = calibrate();
	TEE_MemMove(params[0].memref.buffer, &measured, sizeof(measured));
	TEE_MemFill(&measured, 0, sizeof(measured));
	armed = params[1].value.a;
	return TEE_SUCCESS;
}

TEE_Result __real_TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types,
					     TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result __wrap_TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types,
					     TEE_Param params[TEE_NUM_PARAMS]);

TEE_Result __wrap_TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types,
					     TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_Result res;
	uint64_t begin;

	if (command == MEASURED_TAKE)
		return take(types, params);
	if (command == MEASURED_RESTART)
		TEE_Panic(0);
	if (!armed)
		return __real_TA_InvokeCommandEntryPoint(context, command, types, params);
	begin = bench_region_begin();
	res = __real_TA_InvokeCommandEntryPoint(context, command, types, params);
	bench_total_add(&measured.total, begin, bench_region_end());
	return res;
}
