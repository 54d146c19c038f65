/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests follow Zipf's law: the client of rank k has a chance in proportion to k^-skew. With scans, a tenth of the requests
 * goes once through all clients in turn, as a backup or a fleet-wide key check does; with drift, other clients become the
 * popular ones, nine times.
 *
 * pow() of two C libraries may differ in the last bit, and then so does a request in a million: hence powers of our own.
 */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

#define SEED 88172645463325252u
#define SCAN_LENGTH 1000u
/* Prime, and divides no population: ranks times this, modulo the clients, is one to one. */
#define SPREAD 7919u
/* The weight of rank 1. The sum of all weights stays far below 2^64. */
#define WEIGHT_BITS 47

const struct workload workloads[] = {
	{ "zipf-0.8", 80, false, false },       { "zipf-0.99", 99, false, false },
	{ "zipf-1.2", 120, false, false },      { "zipf-0.8-scans", 80, true, false },
	{ "zipf-0.99-scans", 99, true, false }, { "zipf-1.2-scans", 120, true, false },
	{ "zipf-0.99-drift", 99, false, true },
};
const size_t workload_count = sizeof(workloads) / sizeof(workloads[0]);

const struct workload *workload_named(const char *name)
{
	for (size_t i = 0; i < workload_count; i++)
		if (!strcmp(workloads[i].name, name))
			return &workloads[i];
	return NULL;
}

/* xorshift64*: good enough to draw ranks with. */
static uint64_t chance(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717u;
}

/* The logarithm to base 2 of a number above 0, times 2^32: squaring doubles it, and its next bit comes out in front. */
static uint64_t log2_of(uint32_t number)
{
	unsigned whole = 31;
	uint64_t result;
	uint64_t part; /* in [1, 2), times 2^31 */

	while (!(number >> whole))
		whole--;
	part = (uint64_t)number << (31 - whole);
	result = whole;
	for (int bit = 0; bit < 32; bit++) {
		part = part * part >> 31;
		result <<= 1;
		if (part >> 32) {
			result |= 1;
			part >>= 1;
		}
	}
	return result;
}

static uint64_t square_root(uint64_t number)
{
	uint64_t root = 0;

	for (uint64_t bit = (uint64_t)1 << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= number)
			root += bit;
	return root;
}

/* 2^-(power / 2^32), times 2^WEIGHT_BITS: the factors 2^-1/2, 2^-1/4, 2^-1/8 of the bits behind the point, each the root of the last. */
static uint64_t weight_of(uint64_t power)
{
	uint64_t factor = (uint64_t)1 << 31;
	uint64_t result = (uint64_t)1 << 32;

	for (int bit = 31; bit >= 0; bit--) {
		factor = square_root(factor << 32);
		if (power >> bit & 1)
			result = result * factor >> 32;
	}
	power >>= 32;
	return power < 64 ? (result << (WEIGHT_BITS - 32)) >> power : 0;
}

bool workload_draw(const struct workload *workload, uint32_t *requests, uint32_t count, uint32_t clients)
{
	uint64_t *sums = calloc(clients, sizeof(*sums));
	uint64_t state = SEED;
	uint64_t sum = 0;
	uint32_t scan = 0;
	unsigned shift = 0;

	if (!sums)
		return false;
	for (uint32_t i = 0; i < clients; i++) {
		sum += weight_of(log2_of(i + 1) * workload->skew / 100);
		sums[i] = sum;
	}
	while (!(sum >> (63 - shift)))
		shift++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t low = 0;
		uint32_t high = clients - 1;
		uint64_t at;

		/* Of ten thousand requests a thousand in a row are a scan, which goes on where the last one stopped. */
		if (workload->scans && i % (SCAN_LENGTH * 10) < SCAN_LENGTH) {
			requests[i] = scan;
			scan = (scan + 1) % clients;
			continue;
		}
		do
			at = chance(&state) >> shift;
		while (at >= sum);
		while (low < high) {
			uint32_t middle = (low + high) / 2;

			if (sums[middle] <= at)
				low = middle + 1;
			else
				high = middle;
		}
		if (workload->drifts)
			low += (uint32_t)((uint64_t)i * 10 / count * clients / 10);
		requests[i] = (uint32_t)((uint64_t)low * SPREAD % clients);
	}
	free(sums);
	return true;
}
