/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the host's counter in the place of the emulated machine's: the compiler reads this file before each file of the
 * program's frame. Those files are the same as in an emulated machine, and the images of these must not change.
 */
#ifndef WORLDWISE_BOARD_LINUX_REGION_H
#define WORLDWISE_BOARD_LINUX_REGION_H

#include "../bench/region.h"
#include "counter.h"

#undef BENCH_CLOCK_NAME
/* perf's counters have 64 bits. */
#undef PERF_COUNTER_MOST
#define BENCH_CLOCK_NAME counter_name()
#define bench_region_begin counter_begin
#define bench_region_end counter_end

#endif /* WORLDWISE_BOARD_LINUX_REGION_H */
