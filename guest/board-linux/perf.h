/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's side of the counters: the system calls alone, so that a test can answer them instead. */
#ifndef WORLDWISE_BOARD_LINUX_PERF_H
#define WORLDWISE_BOARD_LINUX_PERF_H

#include <stddef.h>
#include <stdint.h>

/* What a group of counters has counted, in the order in which they were opened. The times are in nanoseconds. */
struct perf_reading {
	uint64_t counters;
	uint64_t enabled; /* how long the group was to count */
	uint64_t running; /* how long it did: less if it shared the processor's counters with others */
	uint64_t values[2];
};

/*
 * Opens the event PERF_COUNT_HW_CPU_CYCLES or PERF_COUNT_HW_INSTRUCTIONS of this process, in user space alone or with
 * COUNTER_WITH_KERNEL in the kernel too, by the counters of the core that it runs on; `group` is the first one's file, or -1 for the first one. Returns a file, or -1
 * with errno.
 */
int perf_open(uint64_t event, int group);

/* Reads a group. Returns 0, or -1 if the kernel does not give it. */
int perf_read(int group, struct perf_reading *reading);

#endif /* WORLDWISE_BOARD_LINUX_PERF_H */
