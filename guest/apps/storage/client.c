/* SPDX-License-Identifier: BSD-2-Clause */
/* Secure storage, one access a call. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "../common/app.h"
#include "access.h"
#include "storage.h"

static const uint32_t commands[ACCESS_ACTIONS + 1] = {
	[ACCESS_CREATE] = STORAGE_CREATE, [ACCESS_READ] = STORAGE_READ,         [ACCESS_OVERWRITE] = STORAGE_OVERWRITE,
	[ACCESS_APPEND] = STORAGE_APPEND, [ACCESS_RENAME] = STORAGE_RENAME,     [ACCESS_ENUMERATE] = STORAGE_ENUMERATE,
	[ACCESS_DELETE] = STORAGE_DELETE, [ACCESS_TRUNCATE] = STORAGE_TRUNCATE,
};

static struct bench_overhead inside;
static struct bench_overhead overhead;
static uint32_t storage_kind;
/* Requests to tee-supplicant in one call: see switches(). */
static uint64_t requests = UINT64_MAX;

/*
 * How often this thread gave the processor away. Of one processor tee-supplicant gets it so, once for each request; what
 * else takes it only adds, so that the least of several calls is the number of requests.
 */
static uint64_t switches(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		bench_fail("getrusage failed");
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static TEEC_Operation operation(struct access *access)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_VALUE_INPUT,
							     TEEC_VALUE_OUTPUT, TEEC_VALUE_OUTPUT) };

	op.params[0].tmpref.buffer = access->data;
	op.params[0].tmpref.size = access->size;
	op.params[1].value.a = storage_kind;
	op.params[1].value.b = access->object;
	switch (access->action) {
	case ACCESS_READ:
		op.paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT,
						 TEEC_VALUE_OUTPUT);
		break;
	case ACCESS_RENAME:
		op.paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT,
						 TEEC_VALUE_OUTPUT);
		op.params[0].value.a = access->renamed;
		op.params[0].value.b = 0;
		break;
	case ACCESS_TRUNCATE:
		op.paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT,
						 TEEC_VALUE_OUTPUT);
		op.params[0].value.a = (uint32_t)access->size;
		op.params[0].value.b = 0;
		break;
	case ACCESS_ENUMERATE:
		op.paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_OUTPUT, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT,
						 TEEC_VALUE_OUTPUT);
		break;
	case ACCESS_DELETE:
		op.paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT, TEEC_VALUE_OUTPUT);
		break;
	default:
		break;
	}
	return op;
}

static void run(const struct bench_plan *plan, struct access *access, uint32_t index)
{
	TEEC_Operation op = operation(access);
	uint64_t given = switches();
	struct bench_span span;
	TEEC_Result res;

	span.begin = bench_region_begin();
	res = TEEC_InvokeCommand(&app_session, commands[access->action], &op, NULL);
	span.end = bench_region_end();
	app_must(res, bench_parameter(plan, "action"), index);
	if (access->action == ACCESS_READ)
		access->size = op.params[0].tmpref.size;
	if (access->action == ACCESS_ENUMERATE) {
		access->count = op.params[0].value.a;
		access->size = op.params[0].value.b;
	}
	if (index == ACCESS_UNMEASURED)
		return;

	given = switches() - given;
	if (index > plan->warmup && given < requests)
		requests = given;
	bench_record_sample(plan, ACCESS_MEASURE, TA_PLACE, index, app_span(&op), inside.count, 0);
	bench_record_sample(plan, ACCESS_MEASURE, CLIENT_PLACE, index, span, overhead.count, inside.nested);
}

static bool there(uint32_t object)
{
	uint8_t byte;
	struct access access = { .action = ACCESS_READ, .object = object, .data = &byte, .size = sizeof(byte) };
	TEEC_Operation op = operation(&access);
	TEEC_Result res = TEEC_InvokeCommand(&app_session, STORAGE_READ, &op, NULL);

	if (res != TEEC_ERROR_ITEM_NOT_FOUND && res != TEEC_ERROR_SHORT_BUFFER)
		app_must(res, "look for object", object);
	return res != TEEC_ERROR_ITEM_NOT_FOUND;
}

static void run_case(const struct bench_plan *plan)
{
	static const struct access_storage secure = { .run = run, .there = there };
	const char *wanted = bench_parameter(plan, "storage");
	char text[24];

	if (!wanted)
		bench_fail("no storage is named");
	storage_kind = strcmp(wanted, "rpmb") ? STORAGE_REE : STORAGE_RPMB;
	inside = app_calibrate_ta();
	overhead = bench_calibrate_place(CLIENT_PLACE);
	access_case(plan, &secure);

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)requests);
	app_outcome("requests to tee-supplicant", text, "");
}

const struct app app = { .uuid = STORAGE_TA_UUID, .calibrate = STORAGE_CALIBRATE, .run = run_case };
