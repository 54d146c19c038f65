/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor's cycle counter as Linux lends it to a process (perf_event_open), for cores whose counters user space cannot
 * read. In an emulated machine that counts instructions, a cycle is one.
 */
#ifndef WORLDWISE_LINUX_PERF_COUNTER_H
#define WORLDWISE_LINUX_PERF_COUNTER_H

#include <stdint.h>

/* The most that may pass between two readings: the counter has 32 bits, and nothing tells of a round that is over. */
#define PERF_COUNTER_MOST (UINT64_C(1) << 32)

/*
 * Cycles of the processor since the first call, whatever ran in them: this process, others, the kernel. Ends the program
 * with a message on standard error if the kernel does not lend the counter.
 */
uint64_t perf_counter_read(void);

#endif /* WORLDWISE_LINUX_PERF_COUNTER_H */
