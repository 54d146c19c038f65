/* SPDX-License-Identifier: BSD-2-Clause */
#include "histogram.h"

#include <time.h>

const uint64_t histogram_steps_us[HISTOGRAM_STEPS] = { 50,     100,     250,     500,     1000,    2500,
						       5000,   10000,   25000,   50000,   100000,  250000,
						       500000, 1000000, 2500000, 5000000, 10000000 };

uint64_t histogram_clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void histogram_add(struct histogram *histogram, uint64_t nanoseconds)
{
	size_t step = 0;

	while (step < HISTOGRAM_STEPS && nanoseconds > histogram_steps_us[step] * 1000)
		step++;
	histogram->counts[step]++;
	histogram->sum_ns += nanoseconds;
}

uint64_t histogram_count(const struct histogram *histogram)
{
	uint64_t all = 0;

	for (size_t i = 0; i <= HISTOGRAM_STEPS; i++)
		all += histogram->counts[i];
	return all;
}

uint64_t histogram_quantile_us(const struct histogram *histogram, unsigned of_thousand)
{
	/* Which one it is, in order: rounded up. */
	uint64_t rank = (histogram_count(histogram) * of_thousand + 999) / 1000;
	uint64_t before = 0;

	for (size_t i = 0; i < HISTOGRAM_STEPS && rank; i++) {
		uint64_t low = i ? histogram_steps_us[i - 1] : 0;

		if (rank <= before + histogram->counts[i])
			return low + (histogram_steps_us[i] - low) * (rank - before) / histogram->counts[i];
		before += histogram->counts[i];
	}
	return rank ? histogram_steps_us[HISTOGRAM_STEPS - 1] : 0;
}
