/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "passes.h"

#include "../aarch64/arguments.h"
#include "../aarch64/counts.h"
#include "../aarch64/cycles.h"
#include "../aarch64/events.h"
#include "../aarch64/stack.h"
#include "../aarch64/trace.h"
#include "peak.h"
#include "witness.h"

static bool by_pairs;
static bool open;
static uint32_t last_id;
static uint32_t ended_count;

static struct {
	uint64_t mark;
	uint64_t counted_before;
	uint64_t lost_before;
	struct node *node;
} pass;

void passes_start(bool pairs)
{
	by_pairs = pairs;
}

uint32_t passes_count(void)
{
	return ended_count;
}

bool passes_are_open(void)
{
	return open;
}

uint32_t passes_open(void)
{
	return open ? last_id : 0;
}

static void end_pass(void)
{
	struct json_object *record;
	struct event_counts events = events_seen();
	uint64_t counted = counts_now();

	if (arguments.stack_mode)
		counts_flush(last_id);
	record = record_new("pass");
	record_number(record, "id", last_id);
	record_number(record, "parent", 0);
	record_number(record, "frame", pass.node ? pass.node->id : 0);
	record_address(record, "mark", pass.mark);
	record_number(record, "begin", pass.counted_before);
	record_number(record, "end", counted);
	record_number(record, "at", 0);
	record_number(record, "instructions", counted - pass.counted_before);
	record_number(record, "lost", totals.lost - pass.lost_before);
	record_number(record, "depth", shadow.depth);
	record_flag(record, "closed", !arguments.stack_mode || stack_node() == pass.node);
	record_number(record, "events", events.written);
	record_number(record, "events_dropped", events.dropped);
	if (by_pairs && arguments.stack_mode)
		peak_write(record);
	record_write(record);
	ended_count++;
	open = false;
}

static void begin_pass(uint64_t pc)
{
	open = true;
	last_id++;
	pass.mark = pc;
	pass.counted_before = counts_now();
	pass.lost_before = totals.lost;
	events_begin(last_id, pass.counted_before);
	if (!arguments.stack_mode)
		return;
	if (by_pairs) {
		stack_begin(pc, pc);
		flat_witness_begin();
	}
	pass.node = stack_node();
	node_write(pass.node);
	peak_begin();
}

void passes_reading(uint64_t pc)
{
	bool ends = open;

	if (ends)
		end_pass();
	if (!ends || !by_pairs)
		begin_pass(pc);
	/* Between two passes models go on: what they say of the next one depends on what was before. */
	if (by_pairs)
		scoreboard->active = open || cycles_cores;
}
