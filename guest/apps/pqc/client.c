/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of one post-quantum scheme in the TA, measured there and around the client's whole call. */
#include <string.h>

#include "../../bench/message.h"
#include "../../operations/operations.h"
#include "../../pqc-operations/io.h"
#include "tee.h"

void frame_message(uint8_t *message, size_t size, uint32_t index)
{
	memcpy(message, message_block(), size);
	message_mark(message, size, index);
}

_Noreturn void frame_fail(const char *what, int result)
{
	bench_fail("%s: %#x", what, (unsigned int)result);
}

void frame_check(const char *name, const char *measure, int ok)
{
	bench_record_check(name, measure, ok);
}

static void measure(const struct bench_plan *plan, const struct operation *operation, struct bench_overhead inside,
		    struct bench_overhead overhead)
{
	bool makes_key = strstr(operation->name, "keygen") != NULL;

	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct bench_span span;
		int result;

		operation->prepare(index);
		tee_give();
		span.begin = bench_region_begin();
		result = operation->run();
		span.end = bench_region_end();
		if (result)
			frame_fail(operation->name, result);
		bench_record_sample(plan, operation->measure, TA_PLACE, index, tee_span, inside.count, 0);
		bench_record_sample(plan, operation->measure, CLIENT_PLACE, index, span, overhead.count, inside.nested);
		tee_take(makes_key);
		operation->evidence(index);
	}
}

static void run(const struct bench_plan *plan)
{
	size_t size = bench_parameter_bytes(plan, "size", 0);
	struct bench_overhead inside = app_calibrate_ta();
	struct bench_overhead overhead = bench_calibrate_place(CLIENT_PLACE);

	if (size > FRAME_MESSAGE_BYTES)
		bench_fail("the message is too long: %zu bytes", size);
	operations_prepare(size, 0);
	known_answers(plan->operation);
	tee_record_memory(plan->operation, size);
	measure(plan, operations_find(plan->operation), inside, overhead);
}

const struct app app = { .uuid = PQC_TA_UUID, .calibrate = PQC_CALIBRATE, .run = run };
