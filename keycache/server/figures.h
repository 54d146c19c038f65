/* SPDX-License-Identifier: BSD-2-Clause */
/* What the server tells of itself: one table, and from it INFO's lines and the metrics. */
#ifndef KEYCACHE_FIGURES_H
#define KEYCACHE_FIGURES_H

#include "buffer.h"
#include "service.h"

/* All figures of one moment. Asks the TA. */
struct figures {
	struct service_counts service;
	uint64_t started; /* seconds since 1970 */
	uint64_t uptime;
	uint64_t tee_calls;
	uint64_t tee_restarts;
	struct shadow_counts shadow;
	struct expiry_counts expiry;
	struct audit_counts audit;
	uint32_t tee_result; /* without RESULT_OK the rest is nothing */
	struct keycache_stats tee;
};

void figures_take(struct service *service, struct figures *figures);
/* INFO's lines for administrators. */
void figures_info(const struct service *service, const struct figures *figures, struct buffer *text);
/* Prometheus' text format, version 0.0.4. */
void figures_metrics(const struct service *service, const struct figures *figures, struct buffer *text);

#endif /* KEYCACHE_FIGURES_H */
