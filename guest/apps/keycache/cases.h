/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the key cache's operations do, each in a file of its own. The machine of `keycache` has no other, so that what is done to
 * those changes none of its counts: they are weak. So has the machine of `keycache-mqtt`.
 */
#ifndef WORLDWISE_APPS_KEYCACHE_CASES_H
#define WORLDWISE_APPS_KEYCACHE_CASES_H

#include "../../bench/bench.h"

/* keycache: what a request costs, in the places that it passes through. */
void cost_case(const struct bench_plan *plan);

/* keycache-load: requests of many connections. */
void load_case(const struct bench_plan *plan) __attribute__((weak));

/* keycache-zipf: a stream of requests of many clients. */
void zipf_case(const struct bench_plan *plan) __attribute__((weak));

/* keycache-mqtt: messages that a broker relays. */
void mqtt_case(const struct bench_plan *plan) __attribute__((weak));

#endif /* WORLDWISE_APPS_KEYCACHE_CASES_H */
