/* SPDX-License-Identifier: BSD-2-Clause */
/* What the clients of guest/apps share: a session of the app's TA, its calibration, and counts that come from the TA. */
#ifndef WORLDWISE_APPS_APP_H
#define WORLDWISE_APPS_APP_H

#include <stdbool.h>
#include <tee_client_api.h>

#include "../../bench/bench.h"

/* Where a client measures: its whole call, and within it TEEC_InvokeCommand alone where a case tells them apart. */
#define CLIENT_PLACE "client"
#define INVOKE_PLACE "invoke"
#define TA_PLACE "ta"

/* An app: its TA, the command by which that tells what measuring costs there, and what it does for a case. */
struct app {
	TEEC_UUID uuid;
	uint32_t calibrate; /* [0] value out a: empty region; [1] value out a: what an inner one adds to an outer */
	void (*run)(const struct bench_plan *plan);
	bool opens_sessions; /* run() finds none open: how sessions are opened is what it measures */
};

/* Defined by the app's client. */
extern const struct app app;

/* Ends the program with an error record unless the call went well. `index` tells which of several it was. */
void app_must(TEEC_Result res, const char *what, uint32_t index);

/* The context and, unless the app opens its sessions, a session that run() finds open. */
extern TEEC_Context app_context;
extern TEEC_Session app_session;

/* Opens another session of the app's TA. */
TEEC_Result app_open(TEEC_Session *session);

/* Asks the TA, by app_session, what measuring costs there, and records it for place "ta". */
struct bench_overhead app_calibrate_ta(void);

/* A region's counter values as a TA returns them: low word in a, high word in b. */
uint64_t app_join(const TEEC_Value *value);

/* The span that a TA returned in parameters 2 and 3. */
struct bench_span app_span(const TEEC_Operation *op);

/* Records one attempt of a campaign and how it went; `detail` may be empty. docs/how/format.md has the record, `outcome`. */
void app_outcome(const char *what, const char *result, const char *detail);

#endif /* WORLDWISE_APPS_APP_H */
