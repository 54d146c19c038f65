/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second process that wants the processor too: parameter load=busy. Samples then have its instructions in them, as
 * often as Linux gives it a turn within the region.
 */
#ifndef WORLDWISE_LINUX_LOAD_H
#define WORLDWISE_LINUX_LOAD_H

#include "../bench/bench.h"

/* Starts it if the plan asks for it. Ends the program if it cannot, or if the plan asks for a load that is not known. */
void load_start(const struct bench_plan *plan);

/* Ends it. */
void load_stop(void);

#endif /* WORLDWISE_LINUX_LOAD_H */
