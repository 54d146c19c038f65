/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's operations, a file each. */
#ifndef WORLDWISE_APPS_CALLS_CLIENT_H
#define WORLDWISE_APPS_CALLS_CLIENT_H

#include "../common/app.h"

/* The same payload by each kind of shared memory. */
void payload_case(const struct bench_plan *plan);

/* An invocation beside other sessions, with parameters, with shared bytes. */
void call_case(const struct bench_plan *plan);

#endif /* WORLDWISE_APPS_CALLS_CLIENT_H */
