/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the one file that the linker puts between OP-TEE and a TA whose source knows nothing of regions: what a region costs there, and
 * the parameters of the command that takes the sums. The file says first where it keeps whether there are regions: MEASURED_ARMED.
 */
#ifndef WORLDWISE_APPS_MEASURED_TA_H
#define WORLDWISE_APPS_MEASURED_TA_H

#include <tee_internal_api.h>

#include "../../bench/calibrate.h"

/* What a region costs is found with a function that does nothing, called as the measured ones are. */
static __attribute__((noinline)) TEE_Result nothing(const void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
	return TEE_SUCCESS;
}

static __attribute__((noinline)) TEE_Result around_nothing(const void *memory, struct bench_total *total)
{
	uint64_t begin;
	TEE_Result res;

	if (!MEASURED_ARMED)
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

	MEASURED_ARMED = 1;
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

/* Whether the parameters are those of the command MEASURED_TAKE, and there is room for what it gives. */
static TEE_Result check_take(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], size_t given)
{
	size_t size = params[0].memref.size;

	if (types != TEE_PARAM_TYPES(TEE_PARAM_TYPE_MEMREF_OUTPUT, TEE_PARAM_TYPE_VALUE_INPUT, TEE_PARAM_TYPE_NONE,
				     TEE_PARAM_TYPE_NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	params[0].memref.size = given;
	if (!params[0].memref.buffer || size < given)
		return TEE_ERROR_SHORT_BUFFER;
	return TEE_SUCCESS;
}

#endif /* WORLDWISE_APPS_MEASURED_TA_H */
