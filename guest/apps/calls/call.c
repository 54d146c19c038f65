/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TEEC_InvokeCommand of a command that does nothing, beside other open sessions, with value parameters, with temporary
 * memory that the TA does not touch. Measured of the session that was opened first and of the one that was opened last:
 * whoever keeps sessions in a list finds one of them sooner.
 */
#include <stdlib.h>

#include "../../bench/message.h"
#include "calls.h"
#include "calls_client.h"

#define MOST_SESSIONS 64

static void fill(TEEC_Operation *op, uint8_t *bytes, size_t size, uint32_t parameters)
{
	uint32_t first = size ? 1 : 0;

	op->paramTypes = 0;
	if (size) {
		op->paramTypes = TEEC_MEMREF_TEMP_INPUT;
		op->params[0].tmpref.buffer = bytes;
		op->params[0].tmpref.size = size;
	}
	for (uint32_t i = first; i < first + parameters; i++) {
		op->paramTypes |= (uint32_t)TEEC_VALUE_INPUT << 4 * i;
		op->params[i].value.a = i;
		op->params[i].value.b = i;
	}
}

static void measure(const struct bench_plan *plan, const char *measure, TEEC_Session *session, uint32_t index,
		    uint32_t command, TEEC_Operation *op, uint64_t overhead)
{
	struct bench_span span;
	TEEC_Result res;

	span.begin = bench_region_begin();
	res = TEEC_InvokeCommand(session, command, op, NULL);
	span.end = bench_region_end();
	app_must(res, measure, index);
	bench_record_sample(plan, measure, CLIENT_PLACE, index, span, overhead, 0);
}

void call_case(const struct bench_plan *plan)
{
	size_t count = bench_parameter_bytes(plan, "sessions", 1);
	size_t parameters = bench_parameter_bytes(plan, "parameters", 0);
	size_t size = bench_parameter_bytes(plan, "size", 0);
	struct bench_overhead overhead = bench_calibrate_place(CLIENT_PLACE);
	uint32_t command = (size ? CALLS_SHARE : CALLS_VALUES) + (uint32_t)parameters;
	uint8_t *bytes = size ? message_make(size) : NULL;
	TEEC_Session others[MOST_SESSIONS];
	TEEC_Operation op = { 0 };

	/* app_session is one of them. */
	if (!count || count > MOST_SESSIONS || parameters > (size ? 3 : 4))
		bench_fail("%zu sessions, %zu parameters beside %zu bytes", count, parameters, size);
	for (uint32_t i = 1; i < count; i++)
		app_must(app_open(&others[i]), "session", i);
	fill(&op, bytes, size, (uint32_t)parameters);
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		measure(plan, "oldest", &app_session, index, command, &op, overhead.count);
		measure(plan, "newest", count > 1 ? &others[count - 1] : &app_session, index, command, &op,
			overhead.count);
	}
	for (uint32_t i = 1; i < count; i++)
		TEEC_CloseSession(&others[i]);
	free(bytes);
}
