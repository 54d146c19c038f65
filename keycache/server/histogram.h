/* SPDX-License-Identifier: BSD-2-Clause */
/* How long things took, counted in fixed steps from 50 us to 10 s: what lies between two of them is not told apart. */
#ifndef KEYCACHE_HISTOGRAM_H
#define KEYCACHE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_STEPS 17

struct histogram {
	uint64_t counts[HISTOGRAM_STEPS + 1]; /* the last one: longer than all steps */
	uint64_t sum_ns;
};

/* The upper bounds, each of which belongs to its step. */
extern const uint64_t histogram_steps_us[HISTOGRAM_STEPS];

/* CLOCK_MONOTONIC. */
uint64_t histogram_clock_ns(void);
void histogram_add(struct histogram *histogram, uint64_t nanoseconds);
uint64_t histogram_count(const struct histogram *histogram);
/* So many of a thousand took no longer: between two steps in proportion, at most the last step. 0 if there are none. */
uint64_t histogram_quantile_us(const struct histogram *histogram, unsigned of_thousand);

#endif /* KEYCACHE_HISTOGRAM_H */
