/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counter of a Linux host: the processor's cycles in user space as perf lends them, with its instructions beside; or
 * the kernel's clock, where it does not. Which one is known on the host alone. Compiled with COUNTER_WITH_KERNEL it has
 * the kernel's cycles too, and those of the secure world, or is the clock: most of a call into a TEE is not in user space.
 *
 * WORLDWISE_CPU in the environment is the processor to stay on, WORLDWISE_SECONDS after how many the program is ended.
 */
#ifndef WORLDWISE_BOARD_LINUX_COUNTER_H
#define WORLDWISE_BOARD_LINUX_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* What happened between the ends of a region, besides what the counter counted. */
struct counter_conditions {
	uint64_t instructions; /* executed where cycles are counted, measuring included; 0 without such a counter */
	uint64_t overhead;     /* how many of these are of measuring: the fewest in any region, which is an empty one */
	uint64_t enabled;      /* nanoseconds for which the counters were to count */
	uint64_t running;      /* and for which they did */
	uint64_t switches;     /* how often another task had the processor, or this one waited */
	uint64_t migrations;   /* 1 if it ended on another processor */
	uint64_t khz_begin;    /* the processor's clock, as the kernel last set it; 0 if it does not say */
	uint64_t khz_end;
};

/* Chooses the counter, goes to the processor asked for, and sets the limit of time. Ends the program if it may not. */
void counter_start(void);

/* As records name it: perf_user_cycles, with the kernel's perf_cycles, or clock_monotonic_raw. */
const char *counter_name(void);

/* What it counts: cycles or nanoseconds. */
const char *counter_unit(void);

/* Why it is the clock; empty if it is not. */
const char *counter_reason(void);

/* Whether instructions are counted beside. */
bool counter_has_instructions(void);

/* The ends of a region. Between them is the least that can be: one return and one call of these. */
uint64_t counter_begin(void);
uint64_t counter_end(void);

/* The conditions of the last region. */
const struct counter_conditions *counter_last(void);

#endif /* WORLDWISE_BOARD_LINUX_COUNTER_H */
