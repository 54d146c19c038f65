/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A measured region: two marks and two reads of the counter.
 *
 * The marks are hints that real hardware executes as NOPs; an emulator's plugin recognises them. The counter is
 * CNTVCT_EL0, readable from EL0 in both worlds. Under QEMU with -icount shift=0 and cntfrq=1000000000 it ticks once
 * per instruction; on a board it ticks at CNTFRQ_EL0. The ISB keeps a real core from reading it early.
 *
 * What the marks and reads cost themselves is measured by bench_calibrate() in calibrate.h, never assumed.
 */
#ifndef WORLDWISE_BENCH_REGION_H
#define WORLDWISE_BENCH_REGION_H

#include <stdint.h>

/* One pass through a region, in ticks of the counter. */
struct bench_span {
	uint64_t begin;
	uint64_t end;
};

/* Several passes through a region that belong to one call. */
struct bench_total {
	uint64_t begin; /* of the first */
	uint64_t end;   /* of the last */
	uint64_t busy;  /* the sum of all: end - begin of each */
	uint64_t spans; /* how many there were */
};

static inline void bench_total_add(struct bench_total *total, uint64_t begin, uint64_t end)
{
	if (!total->spans)
		total->begin = begin;
	total->end = end;
	total->busy += end - begin;
	total->spans++;
}

#if defined(__aarch64__)
#define BENCH_CLOCK_NAME "cntvct_el0"
#define BENCH_CYCLES_NAME "pmccntr_el0"

/*
 * With -Os a compiler makes functions of what is called often. A mark in a function of its own would end the region in
 * another frame than it began in, with calls and returns in it; standard C has no word against that.
 */
#define BENCH_INLINE static inline __attribute__((always_inline))

/* The counter alone: no mark, so no region. */
static inline uint64_t bench_counter(void)
{
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
}

BENCH_INLINE uint64_t bench_region_begin(void)
{
	uint64_t ticks;

	__asm__ volatile("hint #96\n\tisb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
}

BENCH_INLINE uint64_t bench_region_end(void)
{
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\thint #97" : "=r"(ticks) : : "memory");
	return ticks;
}

/* The same regions by the cycle counter, once somebody has let this exception level read it. */
BENCH_INLINE uint64_t bench_cycles_begin(void)
{
	uint64_t cycles;

	__asm__ volatile("hint #96\n\tisb\n\tmrs %0, pmccntr_el0" : "=r"(cycles) : : "memory");
	return cycles;
}

BENCH_INLINE uint64_t bench_cycles_end(void)
{
	uint64_t cycles;

	__asm__ volatile("isb\n\tmrs %0, pmccntr_el0\n\thint #97" : "=r"(cycles) : : "memory");
	return cycles;
}
#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'A'
#include "region_armv7.h"
#else
#error "no counter for this architecture: add its reads and its NOP marks here"
#endif /* __aarch64__ */

#endif /* WORLDWISE_BENCH_REGION_H */
