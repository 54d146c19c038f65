/* SPDX-License-Identifier: BSD-2-Clause */
#include "object.h"

#include <string.h>

#include "../../../bench/bench.h"

static const TEEC_UUID ours = FAULTS_TA_UUID;
static const TEEC_UUID others = FAULTS_OTHER_TA_UUID;
static TEEC_Context context;
static uint32_t storage;

void content_make(struct content *content, size_t size, uint32_t number)
{
	uint32_t state = number * 2654435761u + 1;

	if (size > sizeof(content->bytes))
		bench_fail("an object of %zu bytes is more than the TA takes, %zu", size, sizeof(content->bytes));
	content->size = size;
	for (size_t i = 0; i < size; i++) {
		state = state * 1664525u + 1013904223u;
		content->bytes[i] = (uint8_t)(state >> 24);
	}
}

bool content_same(const struct content *a, const struct content *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

void object_storage(const char *name)
{
	storage = strcmp(name, "rpmb") ? FAULTS_REE : FAULTS_RPMB;
}

void object_start(void)
{
	TEEC_Result result = TEEC_InitializeContext(NULL, &context);

	if (result)
		bench_fail("context failed: %#x", (unsigned int)result);
}

/* The session that is open with each of the two. */
static struct {
	const TEEC_UUID *ta;
	TEEC_Session session;
	bool open;
} held[] = { { .ta = &ours }, { .ta = &others } };

void object_unload(void)
{
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
		if (held[i].open)
			TEEC_CloseSession(&held[i].session);
		held[i].open = false;
	}
}

static TEEC_Result session_with(size_t which)
{
	TEEC_Result result;

	if (held[which].open)
		return TEEC_SUCCESS;
	result = TEEC_OpenSession(&context, &held[which].session, held[which].ta, TEEC_LOGIN_PUBLIC, NULL, NULL, NULL);
	held[which].open = !result;
	return result;
}

static TEEC_Result ask(const TEEC_UUID *ta, uint32_t command, const char *name, uint32_t type, void *data, size_t *size)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_MEMREF_TEMP_INPUT, type,
							     TEEC_NONE) };
	size_t which = ta == &others;
	TEEC_Result result = session_with(which);

	if (result)
		return result;
	op.params[0].value.a = storage;
	op.params[1].tmpref.buffer = (void *)(uintptr_t)name;
	op.params[1].tmpref.size = strlen(name);
	op.params[2].tmpref.buffer = data;
	op.params[2].tmpref.size = size ? *size : 0;
	result = TEEC_InvokeCommand(&held[which].session, command, &op, NULL);
	if (size)
		*size = op.params[2].tmpref.size;
	/* A TA that has panicked is gone; the next who asks gets another. */
	if (result == TEEC_ERROR_TARGET_DEAD) {
		TEEC_CloseSession(&held[which].session);
		held[which].open = false;
	}
	return result;
}

static TEEC_Result give(const TEEC_UUID *ta, uint32_t command, const char *name, const void *data, size_t size)
{
	return ask(ta, command, name, TEEC_MEMREF_TEMP_INPUT, (void *)(uintptr_t)data, &size);
}

TEEC_Result object_create(const char *name, const struct content *content)
{
	return give(&ours, FAULTS_CREATE, name, content->bytes, content->size);
}

TEEC_Result object_overwrite(const char *name, const struct content *content)
{
	return give(&ours, FAULTS_OVERWRITE, name, content->bytes, content->size);
}

TEEC_Result object_append(const char *name, const struct content *content)
{
	return give(&ours, FAULTS_APPEND, name, content->bytes, content->size);
}

TEEC_Result object_replace(const char *name, const struct content *content)
{
	return give(&ours, FAULTS_REPLACE, name, content->bytes, content->size);
}

TEEC_Result object_rename(const char *name, const char *wanted)
{
	return give(&ours, FAULTS_RENAME, name, wanted, strlen(wanted));
}

TEEC_Result object_delete(const char *name)
{
	return ask(&ours, FAULTS_DELETE, name, TEEC_NONE, NULL, NULL);
}

TEEC_Result object_create_by_other(const char *name, const struct content *content)
{
	return give(&others, FAULTS_CREATE, name, content->bytes, content->size);
}

static void read_by(const TEEC_UUID *ta, const char *name, struct answer *answer)
{
	size_t size = sizeof(answer->content.bytes);

	memset(answer, 0, sizeof(*answer));
	answer->result = session_with(ta == &others);
	answer->at_load = answer->result;
	if (answer->at_load)
		return;
	answer->result = ask(ta, FAULTS_READ, name, TEEC_MEMREF_TEMP_OUTPUT, answer->content.bytes, &size);
	answer->content.size = answer->result ? 0 : size;
}

void object_read(const char *name, struct answer *answer)
{
	read_by(&ours, name, answer);
}

void object_read_by_other(const char *name, struct answer *answer)
{
	read_by(&others, name, answer);
}
