/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "events.h"

#include "arguments.h"
#include "counts.h"
#include "stack.h"
#include "trace.h"

static uint32_t pass_id;
static uint64_t counted_before_pass;
static struct event_counts seen;

void events_begin(uint32_t pass, uint64_t counted_before)
{
	pass_id = pass;
	counted_before_pass = counted_before;
	seen = (struct event_counts){ .written = 0, .dropped = 0 };
}

void event_write(const char *what, uint64_t site, uint64_t target)
{
	struct json_object *record;

	if (seen.written >= arguments.max_events) {
		seen.dropped++;
		return;
	}
	seen.written++;
	record = record_new("event");
	record_number(record, "pass", pass_id);
	record_number(record, "at", totals.counted - counted_before_pass);
	record_text(record, "what", what);
	record_address(record, "site", site);
	record_address(record, "target", target);
	record_number(record, "context", running->id);
	record_write(record);
}

struct event_counts events_seen(void)
{
	return seen;
}
