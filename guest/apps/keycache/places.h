/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of a measured request that are in other programs than the client: the client fetches here what was measured there. */
#ifndef WORLDWISE_APPS_KEYCACHE_PLACES_H
#define WORLDWISE_APPS_KEYCACHE_PLACES_H

#include <stdbool.h>

#include "../../bench/bench.h"
#include "measured/measured.h"

#define STORAGE_PLACE "storage"

/* What the TA measured since it was asked last, and whether it is to measure from now on. */
struct measured_ta places_take(bool armed);

/* What measuring costs in a process that has this library. */
struct bench_overhead places_calibrate(const char *library);

/* What a process measures, by its file. */
struct measured *places_map(const char *file);

/* A place that a call went through as often as it did: none at all is a place of nothing, where `around` began. */
void places_record(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
		   const struct measured *measured, uint64_t inner, uint64_t around);

/* What a place's regions add to the one around it. */
uint64_t places_added(const struct measured *measured);

#endif /* WORLDWISE_APPS_KEYCACHE_PLACES_H */
