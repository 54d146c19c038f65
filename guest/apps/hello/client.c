/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest app: the TA increments a value. */
#include "../common/abuse.h"
#include "../common/app.h"
#include "hello.h"

static void run(const struct bench_plan *plan)
{
	struct bench_overhead inside = app_calibrate_ta();
	struct bench_overhead overhead = bench_calibrate_place(CLIENT_PLACE);
	uint32_t value = 41;

	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INOUT, TEEC_NONE, TEEC_VALUE_OUTPUT,
								     TEEC_VALUE_OUTPUT) };
		struct bench_span span;
		TEEC_Result res;

		op.params[0].value.a = value;
		span.begin = bench_region_begin();
		res = TEEC_InvokeCommand(&app_session, HELLO_INCREMENT, &op, NULL);
		span.end = bench_region_end();
		app_must(res, "increment", index);
		if (op.params[0].value.a != value + 1)
			bench_fail("increment %u: %u became %u", (unsigned int)index, (unsigned int)value,
				   (unsigned int)op.params[0].value.a);
		value = op.params[0].value.a;
		bench_record_sample(plan, "increment", TA_PLACE, index, app_span(&op), inside.count, 0);
		bench_record_sample(plan, "increment", CLIENT_PLACE, index, span, overhead.count, inside.nested);
	}
	bench_record_check("value-incremented", "increment", 1);
}

static const struct abuse_command commands[] = {
	{ .name = "INCREMENT",
	  .command = HELLO_INCREMENT,
	  .params = { ABUSE_VALUE_INOUT(41, 0), ABUSE_NONE, ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	{ .name = "CALIBRATE", .command = HELLO_CALIBRATE, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
};
const struct abuse_table app_abuse = { .commands = commands, .count = sizeof(commands) / sizeof(commands[0]) };

const struct app app = { .uuid = HELLO_TA_UUID, .calibrate = HELLO_CALIBRATE, .run = run };
