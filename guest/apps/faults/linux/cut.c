/* SPDX-License-Identifier: BSD-2-Clause */
/* The power cut: a write that the emulator may end at any instruction, and what a fresh machine makes of the rest. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../bench/bench.h"
#include "../../../bench/record.h"
#include "../../../bench/region.h"
#include "campaign.h"

/* Static: each is as large as an object. */
static struct content before;
static struct content written;
static struct content after;
static struct content beside;
static struct answer answer;
static struct answer renamed;

void campaign_must(TEEC_Result result, const char *what)
{
	if (result)
		bench_fail("%s failed: %#x", what, (unsigned int)result);
}

void campaign_outcome(const char *what, const char *result, const char *detail)
{
	record_begin("outcome");
	record_text("what", what);
	record_text("result", result);
	record_text("detail", detail);
	record_end();
}

void campaign_usable(char *text, size_t size)
{
	static struct content content;
	static struct answer back;
	TEEC_Result result;

	text[0] = '\0';
	content_make(&content, 100, 77);
	result = object_create(LATER, &content);
	if (result) {
		(void)snprintf(text, size, "a new object cannot be created: %#010x", (unsigned int)result);
		return;
	}
	object_read(LATER, &back);
	if (back.result)
		(void)snprintf(text, size, "a new object cannot be read: %#010x", (unsigned int)back.result);
	else if (!content_same(&back.content, &content))
		(void)snprintf(text, size, "a new object has another content than was written");
}

static bool is(const char *action, const char *name)
{
	return !strcmp(action, name);
}

static void make_contents(const char *action, size_t size)
{
	content_make(&beside, 500, 3);
	content_make(&before, size, 1);
	content_make(&written, size, 2);
	after = written;
	if (is(action, "append")) {
		if (2 * size > FAULTS_MAX_OBJECT)
			bench_fail("an object of twice %zu bytes is more than the TA takes", size);
		after = before;
		memcpy(after.bytes + size, written.bytes, size);
		after.size = 2 * size;
	}
	if (is(action, "rename"))
		after = before;
}

static TEEC_Result act(const char *action)
{
	if (is(action, "create"))
		return object_create(OBJECT, &written);
	if (is(action, "overwrite"))
		return object_overwrite(OBJECT, &written);
	if (is(action, "append"))
		return object_append(OBJECT, &written);
	if (is(action, "replace"))
		return object_replace(OBJECT, &written);
	if (is(action, "rename"))
		return object_rename(OBJECT, RENAMED);
	if (is(action, "delete"))
		return object_delete(OBJECT);
	bench_fail("no action that writes is called '%s'", action);
}

void cut_write(const char *storage, const char *action, size_t size)
{
	TEEC_Result result;
	int fd = open(JOURNAL_SWITCH, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		bench_fail("%s cannot be made", JOURNAL_SWITCH);
	close(fd);
	make_contents(action, size);
	object_storage(storage);
	object_start();
	campaign_must(object_create(NEIGHBOUR, &beside), "the neighbour's creation");
	if (!is(action, "create"))
		campaign_must(object_create(OBJECT, &before), "the object's creation");
	/* The emulator may be stopped here, and gives no other sign of life. */
	record_begin("outcome");
	record_text("what", "prepared");
	record_text("result", "ready");
	record_end();
	(void)bench_region_begin();
	result = act(action);
	(void)bench_region_end();
	campaign_must(result, action);
}

/* What the TA has under a name: `absent`, `old`, `new`, or else what is wrong. */
static const char *state_of(const struct answer *got, char *text, size_t size)
{
	size_t same = 0;

	if (got->result == TEEC_ERROR_ITEM_NOT_FOUND && !got->at_load)
		return "absent";
	if (got->result) {
		(void)snprintf(text, size, "error: %#010x%s", (unsigned int)got->result,
			       got->at_load ? " at the TA's load" : "");
		return "error";
	}
	if (content_same(&got->content, &after))
		return "new";
	if (content_same(&got->content, &before))
		return "old";
	while (same < got->content.size && got->content.bytes[same] == after.bytes[same])
		same++;
	(void)snprintf(text, size, "%zu bytes, the first %zu as they should be", got->content.size, same);
	return "mixture";
}

/* The outcome's word for what the TA has, by what the action should have left. */
static const char *judge(const char *action, const char *state, const char *state_renamed)
{
	if (is(state, "mixture") || is(state, "error"))
		return state;
	if (is(action, "create"))
		return is(state, "absent") ? "old" : is(state, "new") ? "new" : "mixture";
	if (is(action, "delete"))
		return is(state, "absent") ? "new" : is(state, "old") ? "old" : "mixture";
	if (is(action, "rename")) {
		bool here = !is(state, "absent");
		bool there = !is(state_renamed, "absent");

		/* Both names have one content: which of the two it is called does not matter. */
		if (is(state_renamed, "mixture") || is(state_renamed, "error"))
			return state_renamed;
		return here == there ? (here ? "mixture" : "neither") : here ? "old" : "new";
	}
	return is(state, "absent") ? "neither" : state;
}

void cut_read(const char *storage, const char *action, size_t size)
{
	static struct store store;
	char detail[300] = "";
	char error[60];
	char usable[100];
	const char *state;
	const char *state_renamed = "absent";
	const char *result;
	size_t used;

	make_contents(action, size);
	store_load(&store, JOURNAL_FILE);
	store_put(&store);
	object_storage(storage);
	object_start();
	object_read(OBJECT, &answer);
	state = state_of(&answer, detail, sizeof(detail));
	if (is(action, "rename")) {
		object_read(RENAMED, &renamed);
		state_renamed = state_of(&renamed, detail, sizeof(detail));
	}
	result = judge(action, state, state_renamed);
	if (is(result, "error")) {
		/* Then the detail has nothing else yet. */
		(void)snprintf(error, sizeof(error), "%s", detail);
		result = error;
		detail[0] = '\0';
	}
	/* What was not written to must be as it was, and the storage must go on. */
	used = strlen(detail);
	object_read(NEIGHBOUR, &renamed);
	if (renamed.result)
		(void)snprintf(detail + used, sizeof(detail) - used, "%sthe neighbour cannot be read: %#010x",
			       used ? "; " : "", (unsigned int)renamed.result);
	else if (!content_same(&renamed.content, &beside))
		(void)snprintf(detail + used, sizeof(detail) - used, "%sthe neighbour has another content",
			       used ? "; " : "");
	used = strlen(detail);
	campaign_usable(usable, sizeof(usable));
	if (usable[0])
		(void)snprintf(detail + used, sizeof(detail) - used, "%s%s", used ? "; " : "", usable);
	campaign_outcome("cut", result, detail);
}
