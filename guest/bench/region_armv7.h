/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counter of a Cortex-A9 under Linux. Such a core has no generic timer, and user space may not read its cycle counter,
 * so each reading is a system call: perf's. What that costs is measured as everywhere, and subtracted. There are no marks:
 * the emulator's plugin follows AArch64 alone.
 */
#ifndef WORLDWISE_BENCH_REGION_ARMV7_H
#define WORLDWISE_BENCH_REGION_ARMV7_H

#include "../linux/perf_counter.h"

#define BENCH_CLOCK_NAME "perf_cpu_cycles"
#define BENCH_CYCLES_NAME BENCH_CLOCK_NAME

static inline uint64_t bench_counter(void)
{
	return perf_counter_read();
}

static inline uint64_t bench_region_begin(void)
{
	return perf_counter_read();
}

static inline uint64_t bench_region_end(void)
{
	return perf_counter_read();
}

/* It counts cycles already. */
static inline uint64_t bench_cycles_begin(void)
{
	return perf_counter_read();
}

static inline uint64_t bench_cycles_end(void)
{
	return perf_counter_read();
}

#endif /* WORLDWISE_BENCH_REGION_ARMV7_H */
