/* SPDX-License-Identifier: BSD-2-Clause */
/* What the TA does, as a plain Linux program. Linked once for each implementation, which supplies `linux_ops`. */
#include <string.h>

#include "../bench/bench.h"
#include "../bench/scenario.h"
#include "idle.h"
#include "load.h"
#include "sha256.h"

extern struct attest_ops linux_ops;

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("linux-bench", linux_ops.name, argc, argv);
	uint64_t idle = idle_entries();

	load_start(&plan);
	if (!strcmp(plan.operation, "sha256"))
		sha256_case(&plan, &linux_ops);
	else if (!strcmp(plan.operation, "sha256sum"))
		sha256sum_case(&plan);
	else if (scenario_attest(&plan, &linux_ops, "linux"))
		bench_fail("unknown operation: %s", plan.operation);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
