/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What measuring costs, measured. Header only, so that a TA and a client compile the very same lines.
 */
#ifndef WORLDWISE_BENCH_CALIBRATE_H
#define WORLDWISE_BENCH_CALIBRATE_H

#include "region.h"

struct bench_overhead {
	uint64_t count;  /* an empty region, between its two reads: subtracted from every sample */
	uint64_t nested; /* what a whole inner region, its result stored, adds to an outer one */
};

/*
 * The least of several passes: an interrupt can only add to a pass, and the passes are far shorter than the time
 * between two timer ticks.
 */
#define BENCH_CALIBRATION_PASSES 16

static inline struct bench_overhead bench_calibrate(volatile struct bench_span *store)
{
	struct bench_overhead least = { UINT64_MAX, UINT64_MAX };

	for (int pass = 0; pass < BENCH_CALIBRATION_PASSES; pass++) {
		uint64_t begin = bench_region_begin();
		uint64_t end = bench_region_end();

		if (end - begin < least.count)
			least.count = end - begin;

		begin = bench_region_begin();
		store->begin = bench_region_begin();
		store->end = bench_region_end();
		end = bench_region_end();
		if (end - begin < least.nested)
			least.nested = end - begin;
	}
	least.nested -= least.count;
	return least;
}

#endif /* WORLDWISE_BENCH_CALIBRATE_H */
