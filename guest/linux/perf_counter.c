/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The processor has one cycle counter, and one event has it: the first process's, whose file all its children inherit under
 * this number.
 */
#define INHERITED 200

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "the cycle counter: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Of the one processor there is, not of the process alone: as a counter in the processor that anybody can read. */
static int open_counter(void)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_HARDWARE, .size = sizeof(attributes) };
	long file;

	attributes.config = PERF_COUNT_HW_CPU_CYCLES;
	attributes.pinned = 1;
	file = syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0);
	if (file < 0)
		give_up("perf_event_open");
	if (dup2((int)file, INHERITED) != INHERITED)
		give_up("dup2");
	close((int)file);
	return INHERITED;
}

uint64_t perf_counter_read(void)
{
	static int file = -1;
	uint64_t cycles;

	if (file < 0)
		file = read(INHERITED, &cycles, sizeof(cycles)) == (ssize_t)sizeof(cycles) ? INHERITED : open_counter();
	if (read(file, &cycles, sizeof(cycles)) != (ssize_t)sizeof(cycles))
		give_up("read");
	return cycles;
}
