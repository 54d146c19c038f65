/* SPDX-License-Identifier: BSD-2-Clause */
#include "access.h"

#include <stdlib.h>
#include <string.h>

#include "../../bench/message.h"
#include "storage.h"

/* Contents of before a call differ from those of its own: message_mark() puts this into their first bytes. */
#define BEFORE 0x80000000u

static const struct access_storage *storage;
static const struct bench_plan *plan;
static uint8_t *content;
static uint8_t *found;
static size_t size;

static enum access_action parse_action(void)
{
	static const char *const names[ACCESS_ACTIONS] = {
		[ACCESS_CREATE] = "create", [ACCESS_READ] = "read",     [ACCESS_OVERWRITE] = "overwrite",
		[ACCESS_APPEND] = "append", [ACCESS_RENAME] = "rename", [ACCESS_ENUMERATE] = "enumerate",
		[ACCESS_DELETE] = "delete",
	};
	const char *wanted = bench_parameter(plan, "action");
	int action = 0;

	while (action < ACCESS_ACTIONS && (!wanted || strcmp(wanted, names[action]) != 0))
		action++;
	if (action == ACCESS_ACTIONS)
		bench_fail("unknown action: %s", wanted ? wanted : "none");
	return (enum access_action)action;
}

static void create(uint32_t object, uint32_t mark, size_t bytes)
{
	struct access access = { .action = ACCESS_CREATE, .object = object, .data = content, .size = bytes };

	message_mark(content, bytes, mark);
	storage->run(plan, &access, ACCESS_UNMEASURED);
}

static void delete(uint32_t object)
{
	struct access access = { .action = ACCESS_DELETE, .object = object };

	storage->run(plan, &access, ACCESS_UNMEASURED);
}

/* Reads an object and compares it with the content of a mark, and what is behind that with the one of another. */
static void verify(uint32_t object, uint32_t mark, size_t appended, uint32_t index)
{
	struct access access = { .action = ACCESS_READ, .object = object, .data = found, .size = size + appended };

	memset(found, 0, access.size);
	storage->run(plan, &access, ACCESS_UNMEASURED);
	message_mark(content, size, mark);
	if (access.size != size + appended || memcmp(found, content, size) != 0)
		bench_fail("call %u: the object does not have the content that it was given", (unsigned int)index);
	message_mark(content, size, index);
	if (memcmp(found + size, content, appended) != 0)
		bench_fail("call %u: the object does not end with what was appended", (unsigned int)index);
}

/* What is there before the first call. */
static void prepare(enum access_action action)
{
	uint32_t others = action == ACCESS_ENUMERATE ? ACCESS_LISTED : ACCESS_OTHERS;

	for (uint32_t other = 0; other < others; other++)
		create(STORAGE_OTHERS + other, BEFORE | other, action == ACCESS_ENUMERATE ? size : ACCESS_OTHER_BYTES);
	if (action != ACCESS_CREATE && action != ACCESS_ENUMERATE && action != ACCESS_DELETE)
		create(STORAGE_OBJECT, BEFORE, size);
}

/* Back to what was there before the call, and whether it did what it must. */
static void look(enum access_action action, const struct access *done, uint32_t index)
{
	struct access back = { .object = STORAGE_OBJECT };

	switch (action) {
	case ACCESS_CREATE:
		verify(STORAGE_OBJECT, index, 0, index);
		delete(STORAGE_OBJECT);
		break;
	case ACCESS_READ:
		message_mark(content, size, BEFORE);
		if (done->size != size || memcmp(found, content, size) != 0)
			bench_fail("call %u: what was read is not what was stored", (unsigned int)index);
		break;
	case ACCESS_OVERWRITE:
		verify(STORAGE_OBJECT, index, 0, index);
		break;
	case ACCESS_APPEND:
		verify(STORAGE_OBJECT, BEFORE, ACCESS_APPENDED_BYTES, index);
		back.action = ACCESS_TRUNCATE;
		back.size = size;
		storage->run(plan, &back, ACCESS_UNMEASURED);
		break;
	case ACCESS_RENAME:
		/* Back again, which fails if the object still had its old name too. */
		verify(STORAGE_RENAMED, BEFORE, 0, index);
		back = (struct access){ .action = ACCESS_RENAME, .object = STORAGE_RENAMED, .renamed = STORAGE_OBJECT };
		storage->run(plan, &back, ACCESS_UNMEASURED);
		break;
	case ACCESS_ENUMERATE:
		if (done->count != ACCESS_LISTED || done->size != ACCESS_LISTED * size)
			bench_fail("call %u: listed %u objects of %zu bytes in all", (unsigned int)index,
				   (unsigned int)done->count, done->size);
		break;
	default:
		if (storage->there(STORAGE_OBJECT))
			bench_fail("call %u: the object is still there", (unsigned int)index);
	}
}

static void call(enum access_action action, uint32_t index)
{
	struct access access = {
		.action = action,
		.object = STORAGE_OBJECT,
		.renamed = STORAGE_RENAMED,
		.data = content,
		.size = action == ACCESS_APPEND ? ACCESS_APPENDED_BYTES : size,
	};

	if (action == ACCESS_DELETE)
		create(STORAGE_OBJECT, BEFORE, size);
	message_mark(content, size, index);
	if (action == ACCESS_READ) {
		memset(found, 0, size);
		access.data = found;
	}
	storage->run(plan, &access, index);
	look(action, &access, index);
}

void access_case(const struct bench_plan *wanted, const struct access_storage *kind)
{
	enum access_action action;

	plan = wanted;
	storage = kind;
	action = parse_action();
	size = bench_parameter_bytes(plan, "size", 0);
	if (size < ACCESS_APPENDED_BYTES || size + ACCESS_APPENDED_BYTES > STORAGE_BYTES)
		bench_fail("size %zu is out of range", size);
	content = message_make(size);
	found = message_make(size + ACCESS_APPENDED_BYTES);

	prepare(action);
	for (uint32_t index = 0; index < bench_calls(plan); index++)
		call(action, index);
	bench_record_check("state-as-it-must-be", ACCESS_MEASURE, 1);
}
