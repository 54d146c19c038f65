/* SPDX-License-Identifier: BSD-2-Clause */
/* What the TA does, as a plain Linux program. Linked once for each implementation, which supplies `linux_ops`. */
#include "../../../bench/bench.h"
#include "../../../linux/idle.h"
#include "../../../linux/load.h"
#include "../scenario.h"

extern struct attest_ops linux_ops;

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("linux-bench", linux_ops.name, argc, argv);
	uint64_t idle = idle_entries();

	load_start(&plan);
	if (scenario_attest(&plan, &linux_ops, "linux"))
		bench_fail("unknown operation: %s", plan.operation);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
