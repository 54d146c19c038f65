/* SPDX-License-Identifier: BSD-2-Clause */
#include "app.h"

#include "../../bench/record.h"

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
