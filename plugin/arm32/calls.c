/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls.h"

#include <stddef.h>
#include <string.h>

#include <glib.h>

#include "../aarch64/counts.h"
#include "../aarch64/events.h"
#include "../aarch64/heap.h"
#include "../aarch64/labels.h"
#include "../aarch64/stack.h"
#include "../aarch64/tables.h"
#include "../aarch64/trace.h"
#include "peak.h"
#include "processor.h"
#include "switches.h"
#include "tasks.h"

#define MAX_FUNCTIONS 4096
#define MAX_NESTED 64
#define GIVEN 4u
struct call {
	uint32_t id;
	uint32_t parent;       /* the call around it; 0 if none is */
	unsigned int function; /* 1 + its number; 0 for the pass around all */
	uint64_t pc;
	uint64_t counted_before;
	uint64_t lost_before;
	size_t depth;
	struct node *node;
	struct node *outside;
	uint32_t back;
	uint32_t sp;
	unsigned int exception;
	uint32_t given[GIVEN];
	uint64_t recursions;
	uint64_t inner;  /* of a label: those that began within it and have not ended */
	bool labelled;   /* from a label to another one */
	uint64_t thread; /* the program's, or the task of firmware; a handler is part of what it interrupts */
};

static GHashTable *functions; /* address -> 1 + its number */
static unsigned int functions_count;
static bool by_threads;
static uint64_t counter_ahead; /* by_threads: the counter's value less what was counted */
static bool has_labels;
static uint64_t ends_at;
uint64_t calls_limit = UINT64_MAX;
uint64_t calls_returns;
static struct call calls[MAX_NESTED];
static size_t nested;
static uint32_t last_id;
static uint32_t shared; /* what is executed is of the innermost calls of several threads, under this id; else 0 */
static uint32_t ended;

bool calls_add_label(const char *value, bool ends)
{
	has_labels = true;
	return labels_add(value, ends, false);
}

bool calls_add(uint64_t address)
{
	if (functions_count == MAX_FUNCTIONS)
		return false;
	if (!functions)
		functions = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_hash_table_insert(functions, as_pointer(address), as_pointer(++functions_count));
	return true;
}

void calls_end_at(uint64_t function, uint64_t instructions)
{
	ends_at = function;
	calls_limit = instructions ? instructions : UINT64_MAX;
}

bool calls_are_passes(void)
{
	return functions_count || has_labels;
}

void calls_of_threads(void)
{
	by_threads = true;
}

bool calls_have_begun(void)
{
	return nested;
}

unsigned int calls_thread(void)
{
	/* Of several nobody looks how deep their stacks get. */
	return calls[nested - 1].exception;
}

uint32_t calls_count(void)
{
	return ended;
}

/* Whenever a call was opened or closed, or returns elsewhere. */
static void note_returns(void)
{
	calls_returns = 0;
	for (size_t i = 1; i < nested; i++)
		calls_returns |= CALLS_BIT(calls[i].back);
}

/* What tells calls apart that may be open at the same time without standing in one another. */
static uint64_t thread_of(unsigned int exception)
{
	return by_threads ? exception : switches_task();
}

/* The innermost open call of a thread, counted from 1; 1, the pass around all, if it has none. */
static size_t innermost(uint64_t thread)
{
	size_t found = nested;

	while (found > 1 && calls[found - 1].thread != thread)
		found--;
	return found;
}

static bool are_several(void)
{
	for (size_t i = nested; i > 1; i--)
		if (calls[i - 1].thread != calls[nested - 1].thread)
			return true;
	return false;
}

/* What comes is of the innermost pass, or of the innermost calls of several threads: ../aarch64/passes.h. */
static void own_begins(void)
{
	shared = 0;
	if (!are_several())
		return;
	shared = ++last_id;
	/* Nobody follows more than one stack. */
	peak_forget();
}

static void own_ends(void)
{
	struct json_object *record;
	struct json_object *of;

	counts_flush(shared ? shared : calls[nested - 1].id);
	if (!shared)
		return;
	record = record_new("shared");
	of = json_object_new_array();
	for (size_t i = nested; i > 1; i--)
		if (innermost(calls[i - 1].thread) == i)
			json_object_array_add(of, json_object_new_uint64(calls[i - 1].id));
	record_number(record, "id", shared);
	record_value(record, "of", of);
	record_write(record);
}

/* Begins a pass. Returns its id; 0 if there are too many. */
static uint32_t open_call(unsigned int function, uint64_t pc, unsigned int exception)
{
	struct call *call = &calls[nested];
	uint64_t thread = thread_of(exception);

	if (nested == MAX_NESTED) {
		trace_give_up("calls that are regions stand in one another too deeply", pc);
		return 0;
	}
	if (nested)
		own_ends();
	*call = (struct call){ .id = ++last_id,
			       .parent = nested ? calls[innermost(thread) - 1].id : 0,
			       .function = function,
			       .pc = pc,
			       .counted_before = counts_now(),
			       .lost_before = totals.lost,
			       .depth = shadow.depth,
			       .node = stack_node(),
			       .outside = shadow.frames[shadow.depth - 1].outside,
			       .back = flat_processor_link() & ~1u,
			       .sp = flat_processor_stack(),
			       .exception = exception,
			       .thread = thread };
	for (unsigned int i = 0; i < GIVEN; i++)
		call->given[i] = flat_processor_register(i);
	node_write(call->node);
	nested++;
	heap_begin();
	note_returns();
	if (function)
		peak_enter(call->sp, by_threads ? flat_tasks_handles() : exception);
	own_begins();
	return call->id;
}

static void write_pass(const struct call *call, const char *how, uint64_t counted, uint64_t end)
{
	struct json_object *record;
	bool returned = *how == 'r';

	record = record_new("pass");
	record_number(record, "id", call->id);
	record_number(record, "parent", call->parent);
	record_number(record, "frame", call->node->id);
	record_address(record, "mark", call->pc);
	record_number(record, "begin", call->counted_before + counter_ahead);
	record_number(record, "end", end);
	record_number(record, "at", call->counted_before - calls[0].counted_before);
	record_number(record, "instructions", counted - call->counted_before);
	record_number(record, "lost", totals.lost - call->lost_before);
	record_number(record, "depth", shadow.depth);
	record_flag(record, "closed",
		    !returned || call->labelled || (shadow.depth == call->depth - 1 && stack_node() == call->outside));
	if (call->function) {
		struct json_object *given = json_object_new_array();

		for (unsigned int i = 0; i < GIVEN; i++)
			json_object_array_add(given, json_object_new_uint64(call->given[i]));
		record_number(record, "call", call->function);
		record_text(record, "how", how);
		record_number(record, "recursions", call->recursions);
		record_value(record, "given", given);
		record_number(record, "result", returned ? flat_processor_register(0) : 0);
		peak_write(record);
	}
	if (heap_is_watched())
		heap_write(record);
	record_number(record, "events", call == calls ? events_seen().written : 0);
	record_number(record, "events_dropped", call == calls ? events_seen().dropped : 0);
	record_write(record);
	ended++;
}

/* Ends the open call of that number, counted from 1: the innermost one of its thread. */
static void close_call(size_t number, const char *how)
{
	const struct call *call = &calls[number - 1];

	own_ends();
	heap_end(number - 1);
	heap_write_node();
	if (call->function) {
		peak_leave();
		peak_write_node();
	}
	write_pass(call, how, counts_now(), counts_now() + counter_ahead);
	nested--;
	memmove(&calls[number - 1], &calls[number], (nested - number + 1) * sizeof(calls[0]));
	note_returns();
	if (nested)
		own_begins();
}

void calls_reading(uint64_t value)
{
	counter_ahead = value - calls[0].counted_before;
}

void calls_leave(void)
{
	while (nested > 1)
		close_call(nested, "ended");
	counts_flush(calls[0].id);
	heap_end(0);
	heap_write_node();
	nested = 0;
	shared = 0;
	note_returns();
}

void calls_end(uint64_t value)
{
	write_pass(&calls[0], "", counts_now(), value);
}

void calls_exit(void)
{
	while (nested > 1)
		close_call(nested, "exit");
}

void calls_exit_of(unsigned int thread)
{
	size_t last;

	while ((last = innermost(thread)) > 1)
		close_call(last, "exit");
}

void calls_begin(uint64_t pc)
{
	stack_begin(pc, pc);
	heap_forget();
	scoreboard->active = 1;
	peak_may_jump = true;
	peak_begin();
	open_call(0, pc, 0);
	events_begin(last_id, calls[0].counted_before);
}

/* The innermost open call that returns to `pc` now, counted from 1; 0 if none does. */
static size_t returning(uint64_t pc, unsigned int exception)
{
	for (size_t found = nested; found > 1; found--) {
		const struct call *call = &calls[found - 1];

		if (call->back == pc && call->exception == exception && call->sp == flat_processor_stack())
			return found;
	}
	return 0;
}

static void begin_call(unsigned int function, uint64_t pc, unsigned int exception)
{
	uint32_t here = shadow.frames[shadow.depth - 1].pass;
	uint64_t thread = thread_of(exception);
	size_t last;

	/* Calls that were left, as longjmp does: see leave_calls of ../aarch64/regions.c. */
	while ((last = innermost(thread)) > 1 && calls[last - 1].exception == exception &&
	       flat_processor_stack() >= calls[last - 1].sp && calls[last - 1].id != here)
		close_call(last, "left");
	for (size_t i = nested; i-- > 1;) {
		if (calls[i].function == function && calls[i].exception == exception && calls[i].thread == thread) {
			calls[i].recursions++;
			return;
		}
	}
	shadow.frames[shadow.depth - 1].pass = open_call(function, pc, exception);
}

static void begin_labelled(unsigned int function, uint64_t pc, unsigned int exception)
{
	uint64_t thread = thread_of(exception);

	for (size_t i = nested; i-- > 1;)
		if (calls[i].function == function && calls[i].exception == exception && calls[i].thread == thread) {
			calls[i].recursions++;
			calls[i].inner++;
			return;
		}
	if (!open_call(function, pc, exception))
		return;
	calls[nested - 1].labelled = true;
	/* It returns nowhere, and what it calls does not leave it. */
	calls[nested - 1].back = 1;
	calls[nested - 1].sp++;
	note_returns();
}

static void end_labelled(unsigned int function, uint64_t pc, unsigned int exception)
{
	uint64_t thread = thread_of(exception);
	size_t found = nested;

	while (found > 1 && (calls[found - 1].function != function || calls[found - 1].exception != exception ||
			     calls[found - 1].thread != thread))
		found--;
	if (found < 2)
		return;
	if (calls[found - 1].inner)
		calls[found - 1].inner--;
	else if (found < innermost(thread))
		trace_give_up("a region ends where another one that began in it goes on", pc);
	else
		close_call(found, "returned");
}

bool calls_watch(uint64_t pc)
{
	return (functions && g_hash_table_contains(functions, as_pointer(pc))) ||
	       (has_labels && labels_at(pc, false)) || heap_function_at(pc);
}

/* What begins at `pc` or ends by a label there. */
static void look_at(uint64_t pc, unsigned int exception)
{
	const struct label *label = has_labels ? labels_at(pc, false) : NULL;
	unsigned int function = functions ? GPOINTER_TO_UINT(g_hash_table_lookup(functions, as_pointer(pc))) : 0;

	if (function)
		begin_call(function, pc, exception);
	if (label && label->ends)
		end_labelled(label->call, pc, exception);
	else if (label)
		begin_labelled(label->call, pc, exception);
}

/* Who calls a function of the allocator, or is behind one. */
static struct heap_caller caller_at(uint64_t back, unsigned int exception)
{
	/* Of firmware a handler of an exception, and a task, are each like a thread. */
	return (struct heap_caller){ .thread = (uint64_t)switches_task() << 32 | exception,
				     .sp = flat_processor_stack(),
				     .back = back };
}

static void look_at_heap(const struct heap_function *function, unsigned int exception)
{
	struct heap_caller caller = caller_at(flat_processor_link() & ~1u, exception);
	uint64_t given[HEAP_GIVEN];

	for (unsigned int i = 0; i < HEAP_GIVEN; i++)
		given[i] = flat_processor_register(i);
	heap_enter(function, &caller, given);
}

bool calls_look(uint64_t pc, unsigned int exception, bool watched)
{
	const struct heap_function *function;
	size_t found;
	size_t last;

	if (heap_open && heap_awaits(pc)) {
		struct heap_caller caller = caller_at(pc, exception);

		(void)heap_return(&caller, flat_processor_register(0));
	}
	while (nested > 1 && (found = returning(pc, exception))) {
		/* What it called and did not return was left, as longjmp does. */
		while ((last = innermost(calls[found - 1].thread)) > found)
			close_call(last, "left");
		close_call(found, "returned");
	}
	if (watched)
		look_at(pc, exception);
	if (watched && (function = heap_function_at(pc)))
		look_at_heap(function, exception);
	return (ends_at && pc == ends_at) || counts_now() >= calls_limit;
}

void calls_finish(void)
{
	while (nested > 1)
		close_call(nested, "exit");
	if (nested)
		close_call(nested, "");
}
