/* SPDX-License-Identifier: BSD-2-Clause */
/* Secure storage in the REE's file system: a new object each time, read back and deleted outside the region. */
#include <string.h>

#include "../../bench/message.h"
#include "attestation.h"
#include "tee.h"

static TEEC_Result create(uint8_t *content, struct bench_span *inner)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_NONE, TEEC_VALUE_OUTPUT,
							     TEEC_VALUE_OUTPUT) };
	TEEC_Result res;

	op.params[0].tmpref.buffer = content;
	op.params[0].tmpref.size = ATTEST_OBJECT_BYTES;
	res = TEEC_InvokeCommand(&app_session, ATTEST_STORAGE_CREATE, &op, NULL);
	*inner = app_span(&op);
	return res;
}

static TEEC_Result read_back(uint8_t *content)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_NONE, TEEC_NONE,
							     TEEC_NONE) };

	op.params[0].tmpref.buffer = content;
	op.params[0].tmpref.size = ATTEST_OBJECT_BYTES;
	return TEEC_InvokeCommand(&app_session, ATTEST_STORAGE_READ, &op, NULL);
}

void storage_case(const struct bench_plan *plan)
{
	struct bench_overhead overhead;
	struct bench_overhead inside;
	uint8_t content[ATTEST_OBJECT_BYTES];
	uint8_t found[ATTEST_OBJECT_BYTES];

	app_must(app_open(&app_session), "session", 0);
	inside = app_calibrate_ta();
	overhead = bench_calibrate_place(CLIENT_PLACE);

	memcpy(content, message_block(), sizeof(content));
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct bench_span outer;
		struct bench_span inner;
		TEEC_Result res;

		message_mark(content, sizeof(content), index);
		outer.begin = bench_region_begin();
		res = create(content, &inner);
		outer.end = bench_region_end();
		app_must(res, "create", index);
		bench_record_sample(plan, "create", TA_PLACE, index, inner, inside.count, 0);
		bench_record_sample(plan, "create", CLIENT_PLACE, index, outer, overhead.count, inside.nested);

		memset(found, 0, sizeof(found));
		app_must(read_back(found), "read of object", index);
		if (memcmp(found, content, sizeof(content)))
			bench_fail("object %u does not have the content it was made with", (unsigned int)index);
		app_must(TEEC_InvokeCommand(&app_session, ATTEST_STORAGE_DELETE, NULL, NULL), "delete", index);
	}
	bench_record_check("content-read-back", "create", 1);
	TEEC_CloseSession(&app_session);
}
