/* SPDX-License-Identifier: BSD-2-Clause */
/* The attestation as a plain Linux program. Linked once for each implementation, which supplies `linux_ops`. */
#include "../bench/bench.h"
#include "../bench/scenario.h"
#include "idle.h"

extern struct attest_ops linux_ops;

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("linux-bench", linux_ops.name, argc, argv);
	uint64_t idle = idle_entries();

	if (scenario_attest(&plan, &linux_ops, "linux"))
		bench_fail("unknown operation: %s", plan.operation);
	return bench_finish(idle_entries() - idle);
}
