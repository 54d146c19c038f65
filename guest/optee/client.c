/* SPDX-License-Identifier: BSD-2-Clause */
/* The client application: what is done in the TA, and what calling a TA costs by itself. */
#include <string.h>

#include "../bench/bench.h"
#include "../bench/scenario.h"
#include "../linux/idle.h"
#include "../linux/load.h"
#include "../ops/attest_ta.h"
#include "../ops/optee.h"
#include "cases.h"

#define PROGRAM "optee-client"
#define PLACE CLIENT_PLACE

void must(TEEC_Result res, const char *what, uint32_t index)
{
	if (res)
		bench_fail("%s %u failed: %#x", what, (unsigned int)index, (unsigned int)res);
}

/* TEEC_InvokeCommand of a command without parameters that does nothing. */
static void empty_invoke(const struct bench_plan *plan, TEEC_Context *context, struct bench_overhead overhead)
{
	TEEC_Session session;

	must(optee_open_session(context, &session), "session", 0);
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_NONE, TEEC_NONE, TEEC_NONE) };
		struct bench_span span;
		TEEC_Result res;

		span.begin = bench_region_begin();
		res = TEEC_InvokeCommand(&session, ATTEST_EMPTY, &op, NULL);
		span.end = bench_region_end();
		must(res, "empty invoke", index);
		bench_record_sample(plan, "invoke", PLACE, index, span, overhead.count, 0);
	}
	TEEC_CloseSession(&session);
}

/*
 * TEEC_OpenSession, closed again outside the region. While another session is open the TA stays loaded; without one
 * every opening loads it anew, from the file system, signature check included.
 */
static void open_sessions(const struct bench_plan *plan, TEEC_Context *context, struct bench_overhead overhead,
			  const char *measure)
{
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		TEEC_Session session;
		struct bench_span span;
		TEEC_Result res;

		span.begin = bench_region_begin();
		res = optee_open_session(context, &session);
		span.end = bench_region_end();
		must(res, measure, index);
		TEEC_CloseSession(&session);
		bench_record_sample(plan, measure, PLACE, index, span, overhead.count, 0);
	}
}

static void tee_case(const struct bench_plan *plan)
{
	TEEC_Context context;
	TEEC_Session held;
	struct bench_overhead overhead;

	must(TEEC_InitializeContext(NULL, &context), "context", 0);
	if (!strcmp(plan->operation, "sha256")) {
		sha256_case(plan, &context);
		TEEC_FinalizeContext(&context);
		return;
	}
	if (!strcmp(plan->operation, "storage-create")) {
		storage_case(plan, &context);
		TEEC_FinalizeContext(&context);
		return;
	}
	overhead = bench_calibrate_place(PLACE);
	if (!strcmp(plan->operation, "empty-invoke")) {
		empty_invoke(plan, &context, overhead);
	} else if (!strcmp(plan->operation, "session-open")) {
		must(optee_open_session(&context, &held), "session", 0);
		open_sessions(plan, &context, overhead, "open");
		TEEC_CloseSession(&held);
	} else if (!strcmp(plan->operation, "ta-load")) {
		open_sessions(plan, &context, overhead, "load");
	} else if (!strcmp(plan->operation, "ta-panic")) {
		must(optee_open_session(&context, &held), "session", 0);
		must(TEEC_InvokeCommand(&held, ATTEST_PANIC, NULL, NULL), "TA panic", 0);
	} else {
		bench_fail("unknown operation: %s", plan->operation);
	}
	TEEC_FinalizeContext(&context);
}

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start(PROGRAM, optee_ops.name, argc, argv);
	uint64_t idle = idle_entries();

	load_start(&plan);
	if (scenario_attest(&plan, &optee_ops, PLACE))
		tee_case(&plan);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
