/* SPDX-License-Identifier: BSD-2-Clause */
/* Between OP-TEE and its PKCS#11 TA: a region around each command. */
#include "measured.h"

#include <tee_internal_api.h>

static struct measured measured;
/* A new instance measures from its first command on: nobody can ask it to before it is there. */
static uint32_t armed = 1;

/* What a region costs is found with a function that does nothing, called as the measured one is. */
static __attribute__((noinline)) TEE_Result nothing(const void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
	return TEE_SUCCESS;
}

static __attribute__((noinline)) TEE_Result around_nothing(const void *memory, struct bench_total *total)
{
	uint64_t begin;
	TEE_Result res;

	if (!*(volatile uint32_t *)&armed)
		return nothing(memory);
	begin = bench_region_begin();
	res = nothing(memory);
	bench_total_add(total, begin, bench_region_end());
	return res;
}

static struct bench_overhead calibrate(void)
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);
	struct bench_total total = { 0 };
	uint64_t with = UINT64_MAX;
	uint64_t without = UINT64_MAX;

	armed = 1;
	for (int pass = 0; pass < BENCH_CALIBRATION_PASSES; pass++) {
		uint64_t begin = bench_region_begin();
		uint64_t end;

		(void)nothing(&total);
		end = bench_region_end();
		if (end - begin < without)
			without = end - begin;
		begin = bench_region_begin();
		(void)around_nothing(&total, &total);
		end = bench_region_end();
		if (end - begin < with)
			with = end - begin;
	}
	overhead.nested = with - without;
	return overhead;
}

static TEE_Result take(uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	size_t size = params[0].memref.size;

	if (types != TEE_PARAM_TYPES(TEE_PARAM_TYPE_MEMREF_OUTPUT, TEE_PARAM_TYPE_VALUE_INPUT, TEE_PARAM_TYPE_NONE,
				     TEE_PARAM_TYPE_NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	params[0].memref.size = sizeof(measured);
	if (!params[0].memref.buffer || size < sizeof(measured))
		return TEE_ERROR_SHORT_BUFFER;
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
