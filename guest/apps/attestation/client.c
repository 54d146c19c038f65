/* SPDX-License-Identifier: BSD-2-Clause */
/* The client application: what is done in the TA, and what calling a TA costs by itself. */
#include <string.h>

#include "attestation.h"
#include "scenario.h"
#include "tee.h"

/* TEEC_InvokeCommand of a command without parameters that does nothing. */
static void empty_invoke(const struct bench_plan *plan, struct bench_overhead overhead)
{
	app_must(app_open(&app_session), "session", 0);
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_NONE, TEEC_NONE, TEEC_NONE) };
		struct bench_span span;
		TEEC_Result res;

		span.begin = bench_region_begin();
		res = TEEC_InvokeCommand(&app_session, ATTEST_EMPTY, &op, NULL);
		span.end = bench_region_end();
		app_must(res, "empty invoke", index);
		bench_record_sample(plan, "invoke", CLIENT_PLACE, index, span, overhead.count, 0);
	}
	TEEC_CloseSession(&app_session);
}

/*
 * TEEC_OpenSession, closed again outside the region. While another session is open the TA stays loaded; without one
 * every opening loads it anew, from the file system, signature check included.
 */
static void open_sessions(const struct bench_plan *plan, struct bench_overhead overhead, const char *measure)
{
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct bench_span span;
		TEEC_Result res;

		span.begin = bench_region_begin();
		res = app_open(&app_session);
		span.end = bench_region_end();
		app_must(res, measure, index);
		TEEC_CloseSession(&app_session);
		bench_record_sample(plan, measure, CLIENT_PLACE, index, span, overhead.count, 0);
	}
}

static void run(const struct bench_plan *plan)
{
	struct bench_overhead overhead;
	TEEC_Session held;

	if (!scenario_attest(plan, &tee_ops, CLIENT_PLACE))
		return;
	if (!strcmp(plan->operation, "storage-create")) {
		storage_case(plan);
		return;
	}
	overhead = bench_calibrate_place(CLIENT_PLACE);
	if (!strcmp(plan->operation, "empty-invoke")) {
		empty_invoke(plan, overhead);
	} else if (!strcmp(plan->operation, "session-open")) {
		app_must(app_open(&held), "session", 0);
		open_sessions(plan, overhead, "open");
		TEEC_CloseSession(&held);
	} else if (!strcmp(plan->operation, "ta-load")) {
		open_sessions(plan, overhead, "load");
	} else if (!strcmp(plan->operation, "ta-panic")) {
		app_must(app_open(&held), "session", 0);
		app_must(TEEC_InvokeCommand(&held, ATTEST_PANIC, NULL, NULL), "TA panic", 0);
	} else {
		bench_fail("unknown operation: %s", plan->operation);
	}
}

const struct app app = { .uuid = ATTEST_TA_UUID, .calibrate = ATTEST_CALIBRATE, .run = run, .opens_sessions = true };
