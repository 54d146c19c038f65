/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GET /metrics over plain HTTP, at 127.0.0.1 alone, for Prometheus. A request has METRICS_REQUEST_BYTES at most and no body, a
 * connection one request and METRICS_SECONDS; who comes while there are METRICS_CONNECTIONS waits.
 */
#ifndef KEYCACHE_METRICS_H
#define KEYCACHE_METRICS_H

#include <uv.h>

#include "service.h"

#define METRICS_CONNECTIONS 8u
#define METRICS_REQUEST_BYTES 4096u
#define METRICS_SECONDS 5u

struct metrics;

/* Port 0 takes a free one; *port is the one that it was. NULL, and said on standard error why. */
struct metrics *metrics_start(uv_loop_t *loop, unsigned *port, struct service *service);
/* Once a second: closes connections that take too long. NULL means no metrics, here and below. */
void metrics_tick(struct metrics *metrics);
/* Closes all; the loop must run on for that, and then metrics_free. */
void metrics_stop(struct metrics *metrics);
void metrics_free(struct metrics *metrics);

#endif /* KEYCACHE_METRICS_H */
