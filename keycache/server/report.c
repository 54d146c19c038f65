/* SPDX-License-Identifier: BSD-2-Clause */
/* What the audit log hears of requests. */
#include "command.h"

#include <stdio.h>

static void write_event(const struct call *call, struct audit_event *event)
{
	event->name = call->command ? call->command->name : "unknown command";
	event->client = call->client->id.text;
	event->address = call->client->address;
	audit_write(call->service->audit, event);
	call->service->why = NULL;
	call->service->reported = true;
}

/* The code of an error reply and, if nobody knows better, its text. */
static void take_error(struct audit_event *event, const struct buffer *text, size_t begin, char why[256])
{
	const char *error = (const char *)text->data + begin + 1;
	size_t size = text->size - begin - 1;
	const char *space = memchr(error, ' ', size);
	const char *end = memchr(error, '\r', size);

	event->kind = AUDIT_REFUSAL;
	if (!end || !space || space > end)
		return;
	event->outcome = error;
	event->outcome_size = (size_t)(space - error);
	if (event->why)
		return;
	(void)snprintf(why, 256, "%.*s", (int)(end - space - 1), space + 1);
	event->why = why;
}

void report_request(const struct call *call, size_t begin)
{
	const struct command *command = call->command;
	struct audit_event event = { .kind = command ? command->kind : AUDIT_NOTHING,
				     .outcome = "OK",
				     .why = call->service->why };
	const struct buffer *reply = call->reply;
	struct resp_argument about = { (uint8_t *)call->service->about.text, strlen(call->service->about.text) };
	char why[256];

	if (!call->service->audit || call->service->reported || reply->failed || reply->size <= begin)
		return;
	if (command && command->from && command->from < call->request->count)
		event.from = argument(call, command->from);
	else if (about.size)
		event.from = &about;
	if (command && command->to && command->to < call->request->count)
		event.to = argument(call, command->to);
	event.to_count = event.to != NULL;
	if (reply->data[begin] == '-') {
		take_error(&event, reply, begin, why);
	} else if (event.why) {
		/* Its client hears nothing but that there is no such key. */
		event.kind = AUDIT_REFUSAL;
		event.outcome = "NOKEY";
	}
	write_event(call, &event);
}

void report_key(const struct call *call, const struct resp_argument *from, const struct resp_argument *to, uint32_t res)
{
	struct audit_event event = { .kind = call->command->kind,
				     .from = from,
				     .to = to,
				     .to_count = to != NULL,
				     .outcome = "OK",
				     .why = call->service->why };
	struct buffer text = { 0 };
	struct call error = *call;
	char why[256];

	/* Who only asks whether there is a key is not refused by there being none. */
	if (!call->service->audit || (res == KEYCACHE_NO_KEY && !event.why && event.kind == AUDIT_NOTHING))
		return;
	if (res) {
		error.reply = &text;
		answer_result(&error, res);
		if (!text.failed)
			take_error(&event, &text, 0, why);
	}
	write_event(call, &event);
	buffer_free(&text);
}

void report_copies(const struct call *call, const struct resp_argument *from, const struct resp_argument *to,
		   size_t count)
{
	struct audit_event event = {
		.kind = call->command->kind, .from = from, .to = to, .to_count = count, .outcome = "OK"
	};

	write_event(call, &event);
}
