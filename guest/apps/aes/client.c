/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES in the TA. Each of the four calls is measured three times: around the function that makes it (client), within that
 * around TEEC_InvokeCommand alone (invoke), and within that around the calls of the GlobalPlatform API (ta).
 */
#include "../common/app.h"
#include "case.h"

#include <string.h>

/* Of the TEE internal API; the client API has no name for it. */
#define ERROR_MAC_INVALID 0xffff3071u

static void point_to(TEEC_Parameter *parameter, const uint8_t *bytes, size_t size)
{
	parameter->tmpref.buffer = (void *)(uintptr_t)bytes;
	parameter->tmpref.size = size;
}

/* Fills in an operation for one of the calls and tells which command it is. */
static uint32_t fill(TEEC_Operation *op, enum case_call call, const struct case_job *job)
{
	memset(op, 0, sizeof(*op));
	switch (call) {
	case CASE_PREPARE:
		op->paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT,
						  TEEC_VALUE_OUTPUT);
		op->params[0].value.a = job->mode;
		op->params[0].value.b = job->direction;
		op->params[1].value.a = (uint32_t)job->key_size * 8;
		return AES_PREPARE;
	case CASE_SET_KEY:
		op->paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_NONE, TEEC_VALUE_OUTPUT,
						  TEEC_VALUE_OUTPUT);
		point_to(&op->params[0], job->key, job->key_size);
		return AES_SET_KEY;
	case CASE_SET_IV:
		point_to(&op->params[0], job->iv, job->iv_size);
		if (job->mode != AES_GCM) {
			op->paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_NONE, TEEC_VALUE_OUTPUT,
							  TEEC_VALUE_OUTPUT);
			return AES_SET_IV;
		}
		op->paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_MEMREF_TEMP_INPUT, TEEC_VALUE_OUTPUT,
						  TEEC_VALUE_OUTPUT);
		point_to(&op->params[1], job->aad, job->aad_size);
		return AES_SET_NONCE;
	case CASE_CIPHER:
		op->paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_MEMREF_TEMP_OUTPUT, TEEC_VALUE_OUTPUT,
						  TEEC_VALUE_OUTPUT);
		point_to(&op->params[0], job->in, job->in_size);
		point_to(&op->params[1], job->out, job->out_size);
		break;
	}
	return AES_CIPHER;
}

/* What a client has for such a call: kept a function of its own, so that calling it is part of what it costs. */
__attribute__((noinline)) static TEEC_Result client_call(enum case_call call, const struct case_job *job,
							 TEEC_Operation *op, volatile struct bench_span *invoke)
{
	uint32_t command = fill(op, call, job);
	TEEC_Result res;

	invoke->begin = bench_region_begin();
	res = TEEC_InvokeCommand(&app_session, command, op, NULL);
	invoke->end = bench_region_end();
	return res;
}

static uint32_t measured_call(enum case_call call, const struct case_job *job,
			      struct bench_span spans[CASE_MOST_PLACES])
{
	volatile struct bench_span invoke;
	TEEC_Operation op;
	TEEC_Result res;

	spans[2].begin = bench_region_begin();
	res = client_call(call, job, &op, &invoke);
	spans[2].end = bench_region_end();
	spans[1].begin = invoke.begin;
	spans[1].end = invoke.end;
	spans[0] = app_span(&op);
	if (call == CASE_CIPHER && res == ERROR_MAC_INVALID)
		return CASE_FORGED;
	if (!res && call == CASE_CIPHER && op.params[1].tmpref.size != job->out_size)
		bench_fail("%zu bytes came back instead of %zu", op.params[1].tmpref.size, job->out_size);
	return res;
}

static void release(void)
{
	app_must(TEEC_InvokeCommand(&app_session, AES_RELEASE, NULL, NULL), "release", 0);
}

static void run(const struct bench_plan *plan)
{
	struct case_ops ops = {
		.places = { TA_PLACE, INVOKE_PLACE, CLIENT_PLACE },
		.count = 3,
		.wipes = 1,
		.call = measured_call,
		.release = release,
	};
	volatile struct bench_span store;

	ops.overheads[0] = app_calibrate_ta();
	ops.overheads[1] = bench_calibrate(&store);
	/* What the TA's region adds goes on to the region around both. */
	ops.overheads[1].nested += ops.overheads[0].nested;
	bench_record_overhead(INVOKE_PLACE, BENCH_CLOCK_NAME, ops.overheads[1]);
	ops.overheads[2] = bench_calibrate_place(CLIENT_PLACE);
	case_run(plan, &ops);
}

const struct app app = { .uuid = AES_TA_UUID, .calibrate = AES_CALIBRATE, .run = run };
