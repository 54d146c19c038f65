/* SPDX-License-Identifier: BSD-2-Clause */
#include "load.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

void load_start(const struct bench_plan *plan)
{
	const char *load = bench_parameter(plan, "load");

	if (!load)
		return;
	if (strcmp(load, "busy"))
		bench_fail("unknown load: %s", load);
	child = fork();
	if (child < 0)
		bench_fail("the load cannot be started");
	if (child)
		return;
	/* A case that fails must not leave it behind. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
	for (;;)
		__asm__ volatile("");
}

void load_stop(void)
{
	int status;

	if (!child)
		return;
	if (kill(child, SIGKILL) || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		bench_fail("the load ended by itself");
}
