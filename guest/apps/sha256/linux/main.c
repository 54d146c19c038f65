/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashing as a plain Linux program. Linked once for each implementation, which supplies `linux_ops`. */
#include <string.h>

#include "../../../linux/idle.h"
#include "../../../linux/load.h"
#include "hash.h"

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
	else
		bench_fail("unknown operation: %s", plan.operation);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
