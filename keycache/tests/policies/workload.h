/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of requests to try policies with: keycache-sim plays them, and so does whoever drives a server with them. In integers
 * alone, so that every machine makes the very same stream.
 */
#ifndef KEYCACHE_WORKLOAD_H
#define KEYCACHE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct workload {
	const char *name;
	uint32_t skew; /* Zipf's exponent, in hundredths */
	bool scans;
	bool drifts;
};

extern const struct workload workloads[];
extern const size_t workload_count;

/* NULL: no workload has this name. */
const struct workload *workload_named(const char *name);

/* Fills `requests` with `count` clients, numbers from 0 to `clients` - 1. False: no memory. */
bool workload_draw(const struct workload *workload, uint32_t *requests, uint32_t count, uint32_t clients);

#endif /* KEYCACHE_WORKLOAD_H */
