/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the key cache's server and libteec: a region around each call of the TA. */
#include <dlfcn.h>
#include <stdlib.h>
#include <tee_client_api.h>

#include "file.h"

typedef TEEC_Result (*invoke_function)(TEEC_Session *session, uint32_t command, TEEC_Operation *operation,
				       uint32_t *origin);

static struct measured *measured;
static invoke_function invoke;

static TEEC_Result nothing(TEEC_Session *session, uint32_t command, TEEC_Operation *operation, uint32_t *origin)
{
	__asm__ volatile("" : : "r"(session), "r"(operation), "r"(origin) : "memory");
	return command;
}

__attribute__((visibility("default"))) struct bench_overhead measured_calibrate(void)
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);
	invoke_function real = invoke;
	uint64_t with = UINT64_MAX;
	uint64_t without = UINT64_MAX;

	invoke = nothing;
	measured->armed = 1;
	for (int pass = 0; pass < BENCH_CALIBRATION_PASSES; pass++) {
		uint64_t begin = bench_region_begin();
		uint64_t end;

		(void)invoke(NULL, 0, NULL, NULL);
		end = bench_region_end();
		if (end - begin < without)
			without = end - begin;
		begin = bench_region_begin();
		(void)TEEC_InvokeCommand(NULL, 0, NULL, NULL);
		end = bench_region_end();
		if (end - begin < with)
			with = end - begin;
	}
	invoke = real;
	*measured = (struct measured){ 0 };
	overhead.nested = with - without;
	return overhead;
}

__attribute__((constructor)) static void open_file(void)
{
	/* POSIX has dlsym() give functions as data; ISO C has no such conversion. */
	union {
		void *data;
		invoke_function function;
	} found = { .data = dlsym(RTLD_NEXT, "TEEC_InvokeCommand") };

	measured = measured_create(MEASURED_FILE);
	if (!found.data)
		measured_give_up("TEEC_InvokeCommand");
	invoke = found.function;
}

__attribute__((visibility("default"))) TEEC_Result TEEC_InvokeCommand(TEEC_Session *session, uint32_t command,
								      TEEC_Operation *operation, uint32_t *origin)
{
	uint64_t begin;
	TEEC_Result res;

	if (!measured->armed)
		return invoke(session, command, operation, origin);
	begin = bench_region_begin();
	res = invoke(session, command, operation, origin);
	bench_total_add(&measured->total, begin, bench_region_end());
	return res;
}
