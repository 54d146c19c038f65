/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of every app's client. */
#include "app.h"

#include <string.h>

#include "../../bench/record.h"
#include "../../linux/idle.h"
#include "../../linux/load.h"

TEEC_Context app_context;
TEEC_Session app_session;

void app_must(TEEC_Result res, const char *what, uint32_t index)
{
	if (res)
		bench_fail("%s %u failed: %#x", what, (unsigned int)index, (unsigned int)res);
}

TEEC_Result app_open(TEEC_Session *session)
{
	return TEEC_OpenSession(&app_context, session, &app.uuid, TEEC_LOGIN_PUBLIC, NULL, NULL, NULL);
}

uint64_t app_join(const TEEC_Value *value)
{
	return (uint64_t)value->b << 32 | value->a;
}

struct bench_span app_span(const TEEC_Operation *op)
{
	return (struct bench_span){ .begin = app_join(&op->params[2].value), .end = app_join(&op->params[3].value) };
}

struct bench_overhead app_calibrate_ta(void)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_OUTPUT, TEEC_VALUE_OUTPUT, TEEC_NONE,
							     TEEC_NONE) };
	struct bench_overhead overhead;

	app_must(TEEC_InvokeCommand(&app_session, app.calibrate, &op, NULL), "calibration", 0);
	overhead.count = op.params[0].value.a;
	overhead.nested = op.params[1].value.a;
	bench_record_overhead(TA_PLACE, BENCH_CLOCK_NAME, overhead);
	return overhead;
}

void app_outcome(const char *what, const char *result, const char *detail)
{
	record_begin("outcome");
	record_text("what", what);
	record_text("result", result);
	record_text("detail", detail);
	record_end();
}

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("optee-client", "optee", argc, argv);
	uint64_t idle = idle_entries();

	load_start(&plan);
	app_must(TEEC_InitializeContext(NULL, &app_context), "context", 0);
	app_must(app_open(&app_session), "session", 0);
	if (strcmp(plan.operation, "abuse"))
		app.run(&plan);
	else
		abuse_case(&plan, &app_abuse);
	TEEC_CloseSession(&app_session);
	TEEC_FinalizeContext(&app_context);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
