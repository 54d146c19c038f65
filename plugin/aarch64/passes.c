/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "passes.h"

#include <string.h>

#include <glib.h>

#include "arguments.h"
#include "counts.h"
#include "cycles.h"
#include "depth.h"
#include "heap.h"
#include "masks.h"
#include "processor.h"
#include "stack.h"
#include "tables.h"
#include "tasks.h"
#include "threads.h"
#include "trace.h"
#include "witness.h"

struct pass passes[MAX_NESTED];
size_t nested;
struct ended ended;
uint32_t passes_shared;

static GHashTable *marks; /* address of a mark -> how often an outermost region began there */
static uint32_t last_id;
static uint32_t shares; /* how many ids stand for such stretches, and for no pass */

void passes_start(void)
{
	marks = g_hash_table_new(g_direct_hash, g_direct_equal);
}

uint32_t passes_count(void)
{
	return last_id - shares;
}

/* Begins to follow, at the mrs `pc`. False if the mark has had as many passes as are asked for. */
static bool begin_outermost(uint64_t mark, uint64_t pc)
{
	uint64_t seen = (uintptr_t)g_hash_table_lookup(marks, as_pointer(mark));

	if (arguments.passes && seen >= arguments.passes)
		return false;
	g_hash_table_insert(marks, as_pointer(mark), as_pointer(seen + 1));
	if (!seen)
		cycles_forget();
	tasks_forget();
	threads_forget();
	depth_forget();
	heap_forget();
	running = context_of(processor_el(), processor_secure(), 0);
	stack_begin(mark, pc);
	masks_forget();
	scoreboard->active = 1;
	return true;
}

size_t passes_innermost(uint64_t thread)
{
	for (size_t i = nested; i > 0 && passes[i - 1].call; i--)
		if (passes[i - 1].thread == thread)
			return i;
	return 0;
}

size_t passes_around_call(uint64_t thread)
{
	size_t found = passes_innermost(thread);

	for (found = found ? found : nested; found && passes[found - 1].call && passes[found - 1].thread != thread;)
		found--;
	return found;
}

/* Whether calls of more than one thread are open. */
static bool are_several(void)
{
	for (size_t i = nested; i > 0 && passes[i - 1].call; i--)
		if (passes[i - 1].thread != passes[nested - 1].thread)
			return true;
	return false;
}

void passes_own_begins(void)
{
	bool several = arguments.stack_mode && are_several();

	passes_shared = several ? ++last_id : 0;
	shares += several;
	if (several)
		depth_share();
}

/* What was executed since passes_own_begins() is written. */
static void own_ends(void)
{
	struct json_object *record;
	struct json_object *of;

	if (!arguments.stack_mode)
		return;
	counts_flush(passes_shared ? passes_shared : passes[nested - 1].id);
	if (!passes_shared)
		return;
	record = record_new("shared");
	of = json_object_new_array();
	for (size_t i = nested; i > 0 && passes[i - 1].call; i--)
		if (passes_innermost(passes[i - 1].thread) == i)
			json_object_array_add(of, json_object_new_uint64(passes[i - 1].id));
	record_number(record, "id", passes_shared);
	record_value(record, "of", of);
	record_write(record);
}

void passes_begin(uint64_t mark, uint64_t pc, size_t around)
{
	struct pass *pass = &passes[nested];

	if (nested == MAX_NESTED) {
		trace_give_up("regions are nested too deeply", pc);
		return;
	}
	if (!nested && !begin_outermost(mark, pc))
		return;
	if (nested)
		own_ends();
	*pass = (struct pass){ .id = ++last_id,
			       .parent = around ? passes[around - 1].id : 0,
			       .mark = mark,
			       .counted_before = counts_now(),
			       .depth = shadow.depth,
			       .node = stack_node(),
			       .lost_before = totals.lost };
	pass->at = pass->counted_before - passes[0].counted_before;
	if (arguments.stack_mode)
		masks_begin(pc);
	if (arguments.watches)
		depth_begin();
	heap_begin();
	sampling_begin(&pass->sampling);
	cycles_of_pass(&pass->sampling);
	if (!nested) {
		events_begin(pass->id, pass->counted_before);
		witness_begin(pass->id);
	}
	nested++;
	passes_own_begins();
}

size_t passes_number_of(uint32_t id)
{
	size_t found = nested;

	while (found && passes[found - 1].id != id)
		found--;
	return found;
}

void passes_end(size_t at)
{
	const struct pass *pass = &passes[at];
	bool on_stack = !passes_shared || pass->thread == processor_thread();
	size_t around = passes_number_of(pass->parent);

	own_ends();
	ended = (struct ended){ .pass = *pass,
				.instructions = counts_now() - pass->counted_before,
				.lost = totals.lost - pass->lost_before,
				.depth = shadow.depth,
				.closed = !arguments.stack_mode ||
					  (shadow.depth == pass->depth && stack_node() == pass->node) };
	nested--;
	memmove(&passes[at], &passes[at + 1], (nested - at) * sizeof(passes[0]));
	if (arguments.stack_mode)
		masks_end(at);
	if (arguments.watches)
		depth_end(at, around, on_stack);
	heap_end(at);
	cycles_of_pass(nested ? &passes[nested - 1].sampling : NULL);
	if (!nested) {
		ended.events = events_seen();
		scoreboard->active = 0;
	}
	passes_own_begins();
}

static void write_call(struct json_object *record, const struct pass *pass)
{
	struct json_object *given = json_object_new_array();

	for (unsigned int i = 0; i < CALL_ARGUMENTS; i++)
		json_object_array_add(given, json_object_new_uint64(pass->given[i]));
	record_number(record, "call", pass->call);
	record_text(record, "how", pass->how);
	if (*pass->name)
		record_text(record, "thread", pass->name);
	record_number(record, "recursions", pass->recursions);
	record_value(record, "given", given);
	record_number(record, "result", pass->result);
}

void passes_write(uint64_t end)
{
	struct json_object *record;

	node_write(ended.pass.node);
	if (arguments.stack_mode) {
		masks_write_spans(ended.pass.id);
		masks_write_nodes();
	}
	if (arguments.watches)
		depth_write_nodes();
	if (heap_is_watched())
		heap_write_node();
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
	if (ended.pass.call)
		write_call(record, &ended.pass);
	if (arguments.watches)
		depth_write(record);
	if (heap_is_watched())
		heap_write(record);
	if (arguments.stack_mode)
		masks_write(record);
	record_number(record, "events", ended.events.written);
	record_number(record, "events_dropped", ended.events.dropped);
	record_write(record);
}
