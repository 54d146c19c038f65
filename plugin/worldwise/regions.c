/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "regions.h"

#include <stddef.h>

#include <glib.h>

#include "arguments.h"
#include "cycles.h"
#include "events.h"
#include "processor.h"
#include "stack.h"
#include "tables.h"
#include "tasks.h"
#include "threads.h"
#include "trace.h"
#include "witness.h"

#define MAX_NESTED 8

struct pass {
	uint32_t id;
	uint32_t parent; /* the pass around it, 0 if none */
	uint64_t mark;   /* the address of the mark */
	uint64_t begin;  /* the counter as the program read it */
	uint64_t counted_before;
	uint64_t at; /* instructions after the begin of the outermost */
	size_t depth;
	struct node *node;
	uint64_t lost_before;
	struct sampling sampling;
};

/* A pass that was left, but for the counter's value at its end. */
struct ended {
	struct pass pass;
	uint64_t instructions;
	uint64_t lost;
	size_t depth;
	bool closed; /* the stack is as it was when the pass began */
	struct event_counts events;
};

static GHashTable *marks; /* address of a mark -> how often an outermost region began there */
static struct pass passes[MAX_NESTED];
static size_t nested; /* passes that are open */
static struct ended ended;
static uint32_t last_id;

static uint64_t begins_at; /* the mrs of a mark that was passed; 0 if that was executed */
static uint64_t mark;      /* and the address of the mark */

uint64_t reading_at;
static unsigned int reading_in; /* the x register it is in */
static bool reading_ends;       /* it is for the end of a pass, else for the begin of the innermost */

void regions_start(void)
{
	marks = g_hash_table_new(g_direct_hash, g_direct_equal);
}

uint32_t regions_passes(void)
{
	return last_id;
}

/* Begins to follow, at the mrs `pc`. False if the mark has had as many passes as are asked for. */
static bool begin_outermost(uint64_t pc)
{
	uint64_t seen = (uintptr_t)g_hash_table_lookup(marks, as_pointer(mark));

	if (arguments.passes && seen >= arguments.passes)
		return false;
	g_hash_table_insert(marks, as_pointer(mark), as_pointer(seen + 1));
	if (!seen)
		cycles_forget();
	tasks_forget();
	threads_forget();
	running = context_of(processor_el(), processor_secure(), 0);
	stack_begin(mark, pc);
	scoreboard->active = 1;
	return true;
}

static void begin_pass(uint64_t pc)
{
	struct pass *pass = &passes[nested];

	if (nested == MAX_NESTED) {
		trace_give_up("regions are nested too deeply", pc);
		return;
	}
	if (!nested && !begin_outermost(pc))
		return;
	if (nested && arguments.stack_mode)
		counts_flush(passes[nested - 1].id);
	*pass = (struct pass){ .id = ++last_id,
			       .parent = nested ? passes[nested - 1].id : 0,
			       .mark = mark,
			       .counted_before = counts_now(),
			       .depth = shadow.depth,
			       .node = stack_node(),
			       .lost_before = totals.lost };
	pass->at = pass->counted_before - passes[0].counted_before;
	sampling_begin(&pass->sampling);
	cycles_of_pass(&pass->sampling);
	if (!nested) {
		events_begin(pass->id, pass->counted_before);
		witness_begin(pass->id);
	}
	nested++;
}

static void end_pass(void)
{
	const struct pass *pass = &passes[nested - 1];

	if (arguments.stack_mode)
		counts_flush(pass->id);
	ended = (struct ended){ .pass = *pass,
				.instructions = counts_now() - pass->counted_before,
				.lost = totals.lost - pass->lost_before,
				.depth = shadow.depth,
				.closed = !arguments.stack_mode ||
					  (shadow.depth == pass->depth && stack_node() == pass->node) };
	nested--;
	cycles_of_pass(nested ? &passes[nested - 1].sampling : NULL);
	if (!nested) {
		ended.events = events_seen();
		scoreboard->active = 0;
	}
}

static void write_ended(uint64_t end)
{
	struct json_object *record;

	node_write(ended.pass.node);
	record = record_new("pass");
	record_number(record, "id", ended.pass.id);
	record_number(record, "parent", ended.pass.parent);
	record_number(record, "frame", ended.pass.node->id);
	record_address(record, "mark", ended.pass.mark);
	record_number(record, "begin", ended.pass.begin);
	record_number(record, "end", end);
	record_number(record, "at", ended.pass.at);
	record_number(record, "instructions", ended.instructions);
	record_number(record, "lost", ended.lost);
	record_number(record, "depth", ended.depth);
	record_flag(record, "closed", ended.closed);
	record_number(record, "events", ended.events.written);
	record_number(record, "events_dropped", ended.events.dropped);
	record_write(record);
}

void regions_take_reading(void)
{
	uint64_t value = processor_x(reading_in);

	reading_at = 0;
	if (reading_ends)
		write_ended(value);
	else if (nested)
		passes[nested - 1].begin = value;
}

/* The mrs `read` was reached: its value is wanted. */
static void want_reading(const struct block *read, bool ends)
{
	reading_at = read->end;
	reading_in = read->reads_to;
	reading_ends = ends;
}

void regions_mark(const struct block *to)
{
	if (to->begins_at) {
		begins_at = to->begins_at;
		/* hint, isb, mrs */
		mark = begins_at - 2 * INSTRUCTION_BYTES;
	}
	if (to->reads && begins_at == to->pc) {
		begins_at = 0;
		begin_pass(to->pc);
		want_reading(to, false);
	} else if (to->ends && nested) {
		end_pass();
		want_reading(to, true);
	}
}

void regions_finish(void)
{
	if (nested)
		trace_give_up("the machine ended inside a region", passes[nested - 1].mark);
}
