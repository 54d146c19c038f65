/* SPDX-License-Identifier: BSD-2-Clause */
/* What the TA does, as a plain Linux program with a library of Linux: the same four calls, each measured once. */
#include "library.h"

#include <string.h>

#include "../../../linux/idle.h"
#include "../../../linux/load.h"

#define PLACE "linux"

static uint32_t measured_call(enum case_call call, const struct case_job *job,
			      struct bench_span spans[CASE_MOST_PLACES])
{
	uint32_t res;

	spans[0].begin = bench_region_begin();
	res = library_call(call, job);
	spans[0].end = bench_region_end();
	return res;
}

int main(int argc, char **argv)
{
	struct case_ops ops = { .places = { PLACE }, .count = 1, .call = measured_call, .release = library_release };
	struct bench_plan plan;
	uint64_t idle;

	library_environment(argv);
	plan = bench_start("linux-bench", AES_LIBRARY, argc, argv);
	idle = idle_entries();
	if (strcmp(plan.operation, "aes"))
		bench_fail("unknown operation: %s", plan.operation);
	load_start(&plan);
	ops.overheads[0] = bench_calibrate_place(PLACE);
	case_run(&plan, &ops);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
