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

/*
 * The same for two regions by the cycle counter, one in the other: `inner` as above. What the outer one adds, with the
 * inner one in it and both results kept, is told in ticks of the counter of the region around both.
 */
static inline void bench_calibrate_cycles(volatile struct bench_span store[2], struct bench_total totals[2],
					  struct bench_overhead *inner, struct bench_overhead *outer)
{
	struct bench_overhead around = bench_calibrate(&store[0]);

	inner->count = inner->nested = outer->nested = UINT64_MAX;
	for (int pass = 0; pass < BENCH_CALIBRATION_PASSES; pass++) {
		uint64_t begin = bench_cycles_begin();
		uint64_t end = bench_cycles_end();

		if (end - begin < inner->count)
			inner->count = end - begin;

		begin = bench_cycles_begin();
		store[0].begin = bench_cycles_begin();
		store[0].end = bench_cycles_end();
		end = bench_cycles_end();
		if (end - begin < inner->nested)
			inner->nested = end - begin;

		begin = bench_region_begin();
		store[1].begin = bench_cycles_begin();
		store[0].begin = bench_cycles_begin();
		store[0].end = bench_cycles_end();
		store[1].end = bench_cycles_end();
		bench_total_add(&totals[0], store[0].begin, store[0].end);
		bench_total_add(&totals[1], store[1].begin, store[1].end);
		end = bench_region_end();
		if (end - begin < outer->nested)
			outer->nested = end - begin;
	}
	outer->count = inner->count;
	inner->nested -= inner->count;
	outer->nested -= around.count;
}

#endif /* WORLDWISE_BENCH_CALIBRATE_H */
