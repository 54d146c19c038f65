/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "regions.h"

#include <stddef.h>
#include <string.h>

#include <glib.h>

#include "arguments.h"
#include "cycles.h"
#include "depth.h"
#include "events.h"
#include "masks.h"
#include "names.h"
#include "processor.h"
#include "stack.h"
#include "tables.h"
#include "tasks.h"
#include "threads.h"
#include "trace.h"
#include "witness.h"

#define MAX_NESTED 64

/* System calls of Linux on AArch64 that end a thread and a process, and the class of exceptions that they are. */
#define SYSCALL_EXIT 93
#define SYSCALL_EXIT_GROUP 94
#define SYSCALL_NUMBER_IN 8
#define CLASS_SVC 0x15u
#define LINK 30

/* Arguments of a call that are recorded. */
#define CALL_ARGUMENTS 4

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
	/* Of a call alone. */
	unsigned int call;   /* 1 + the number of its function; 0 for a mark */
	uint64_t back;       /* where it returns to, */
	uint64_t sp;         /* with this stack pointer, */
	uint64_t thread;     /* in this thread of the program */
	uint64_t inner;      /* of a label: those that began within it and have not ended */
	uint64_t recursions; /* calls of the same function within it, which are no passes of their own */
	uint64_t given[CALL_ARGUMENTS];
	char name[NAME_BYTES]; /* of that thread, if it was given one */
	bool labelled;         /* it goes from a label to another one: it is no function's, and returns nowhere */
	struct node *outside;  /* the node that it returns to */
	const char *how;       /* it ended; NULL for a mark */
	uint64_t result;
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

static uint32_t shared_id; /* what is executed while several threads are in calls is counted under it; else 0 */
static uint32_t shares;    /* how many ids stand for such stretches, and for no pass */

size_t open_calls;
static uint64_t own_space; /* the translation table of the program whose calls are regions; 0 until it begins */

uint64_t reading_at;
static unsigned int reading_in; /* the x register it is in */
static bool reading_ends;       /* it is for the end of a pass, else for the begin of the innermost */

void regions_start(void)
{
	marks = g_hash_table_new(g_direct_hash, g_direct_equal);
}

uint32_t regions_passes(void)
{
	return last_id - shares;
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
	own_space = 0;
	depth_forget();
	running = context_of(processor_el(), processor_secure(), 0);
	stack_begin(mark, pc);
	masks_forget();
	scoreboard->active = 1;
	return true;
}

/* The innermost open call of a thread, counted from 1; 0 if it has none. */
static size_t innermost(uint64_t thread)
{
	for (size_t i = nested; i > 0 && passes[i - 1].call; i--)
		if (passes[i - 1].thread == thread)
			return i;
	return 0;
}

/* The pass around a call that a thread begins, counted from 1: its innermost, or what is around the calls of all. */
static size_t around_call(uint64_t thread)
{
	size_t found = innermost(thread);

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

/* What comes is of the innermost pass; with several threads in calls it is of the innermost call of each. */
static void own_begins(void)
{
	bool several = arguments.stack_mode && are_several();

	shared_id = several ? ++last_id : 0;
	shares += several;
	if (several)
		depth_share();
}

/* What was executed since own_begins() is written. */
static void own_ends(void)
{
	struct json_object *record;
	struct json_object *of;

	if (!arguments.stack_mode)
		return;
	counts_flush(shared_id ? shared_id : passes[nested - 1].id);
	if (!shared_id)
		return;
	record = record_new("shared");
	of = json_object_new_array();
	for (size_t i = nested; i > 0 && passes[i - 1].call; i--)
		if (innermost(passes[i - 1].thread) == i)
			json_object_array_add(of, json_object_new_uint64(passes[i - 1].id));
	record_number(record, "id", shared_id);
	record_value(record, "of", of);
	record_write(record);
}

/* Begins a pass within that of the number `around`, counted from 1. */
static void begin_pass(uint64_t pc, size_t around)
{
	struct pass *pass = &passes[nested];

	if (nested == MAX_NESTED) {
		trace_give_up("regions are nested too deeply", pc);
		return;
	}
	if (!nested && !begin_outermost(pc))
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
	sampling_begin(&pass->sampling);
	cycles_of_pass(&pass->sampling);
	if (!nested) {
		events_begin(pass->id, pass->counted_before);
		witness_begin(pass->id);
	}
	nested++;
	own_begins();
}

/* The number of an open pass by its id, counted from 1; 0 if none has it. */
static size_t number_of(uint32_t id)
{
	size_t found = nested;

	while (found && passes[found - 1].id != id)
		found--;
	return found;
}

/* Ends the pass at that index: of all the innermost one, or the innermost call of one of several threads. */
static void end_pass(size_t at)
{
	const struct pass *pass = &passes[at];
	bool on_stack = !shared_id || pass->thread == processor_thread();
	size_t around = number_of(pass->parent);

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
	cycles_of_pass(nested ? &passes[nested - 1].sampling : NULL);
	if (!nested) {
		ended.events = events_seen();
		scoreboard->active = 0;
	}
	own_begins();
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

static void write_ended(uint64_t end)
{
	struct json_object *record;

	node_write(ended.pass.node);
	if (arguments.stack_mode)
		masks_write_nodes();
	if (arguments.watches)
		depth_write_nodes();
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
	if (arguments.stack_mode)
		masks_write(record);
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

/* Ends a pass that is a call, as end_pass(). The counter is what it would be if the program read it now. */
static void end_call(size_t at, const char *how)
{
	struct pass *pass = &passes[at];
	bool returned = !strcmp(how, "returned");

	pass->how = how;
	pass->result = returned ? processor_x(0) : 0;
	end_pass(at);
	/* Its own frame is gone. */
	ended.closed = !returned || ended.pass.labelled ||
		       (ended.depth == ended.pass.depth - 1 && stack_node() == ended.pass.outside);
	open_calls--;
	write_ended(ended.pass.begin + ended.instructions);
}

static bool in_own_program(void)
{
	return own_space && !processor_el() && !processor_secure() && processor_user_space() == own_space;
}

void regions_enter(void)
{
	if (!own_space && !processor_el() && !processor_secure())
		own_space = processor_user_space();
}

/*
 * Ends the calls that were left without a return, as longjmp does: a function is entered where their stack was. One that
 * jumps to another function as its last act is not left: its frame is still there.
 */
static void leave_calls(uint64_t thread)
{
	uint64_t sp = processor_sp();
	uint32_t here = shadow.frames[shadow.depth - 1].pass;
	size_t last;

	while ((last = innermost(thread)) && sp >= passes[last - 1].sp && passes[last - 1].id != here)
		end_call(last - 1, "left");
}

static struct pass *begin_call(unsigned int call, uint64_t pc, uint64_t thread)
{
	struct pass *pass = &passes[nested];

	mark = pc;
	begin_pass(pc, around_call(thread));
	open_calls++;
	pass->begin = passes[0].begin + pass->at;
	pass->call = call;
	pass->thread = thread;
	(void)g_strlcpy(pass->name, names_of(running->task), NAME_BYTES);
	/* Not before: it is a call of a thread from now on. */
	own_begins();
	return pass;
}

void regions_call(const struct block *to)
{
	struct pass *pass;
	uint64_t thread;

	if (!in_own_program())
		return;
	thread = processor_thread();
	leave_calls(thread);
	for (size_t i = nested; i-- > 0 && passes[i].call;) {
		if (passes[i].thread == thread && passes[i].call == to->call) {
			passes[i].recursions++;
			return;
		}
	}
	if (nested == MAX_NESTED) {
		trace_give_up("calls that are regions stand in one another too deeply", to->pc);
		return;
	}
	pass = begin_call(to->call, to->pc, thread);
	shadow.frames[shadow.depth - 1].pass = pass->id;
	pass->back = processor_x(LINK);
	pass->sp = processor_sp();
	depth_of_call(pass->sp);
	pass->outside = shadow.frames[shadow.depth - 1].outside;
	for (unsigned int i = 0; i < CALL_ARGUMENTS; i++)
		pass->given[i] = processor_x(i);
}

/* The thread of the program that called the TA that runs now: of several that of the call on its stack. */
static uint64_t calling_thread(uint64_t pc)
{
	if (!shared_id)
		return passes[nested - 1].thread;
	for (size_t i = shadow.depth; i-- > 0;) {
		size_t found = shadow.frames[i].pass ? number_of(shadow.frames[i].pass) : 0;

		if (found)
			return passes[found - 1].thread;
	}
	trace_give_up("a region of the TA begins or ends, and nobody knows in which thread of the program", pc);
	return 0;
}

static void begin_labelled(unsigned int call, uint64_t pc, bool in_ta, uint64_t thread)
{
	uint64_t sp = processor_sp();
	struct pass *pass;

	for (size_t i = nested; i-- > 0 && passes[i].call;) {
		if (passes[i].thread == thread && passes[i].call == call) {
			passes[i].recursions++;
			passes[i].inner++;
			return;
		}
	}
	if (nested == MAX_NESTED) {
		trace_give_up("calls that are regions stand in one another too deeply", pc);
		return;
	}
	pass = begin_call(call, pc, thread);
	pass->labelled = true;
	/* What it calls begins with the same stack pointer and does not leave it. */
	pass->sp = sp + 1;
	if (!in_ta)
		depth_of_call(sp);
}

static void end_labelled(unsigned int call, uint64_t pc, uint64_t thread)
{
	size_t found = nested;

	while (found > 0 && passes[found - 1].call &&
	       (passes[found - 1].call != call || (shared_id && passes[found - 1].thread != thread)))
		found--;
	if (!found || !passes[found - 1].call)
		return;
	if (passes[found - 1].inner)
		passes[found - 1].inner--;
	else if (found < innermost(passes[found - 1].thread))
		trace_give_up("a region ends where another one that began in it goes on", pc);
	else
		end_call(found - 1, "returned");
}

void regions_label(const struct block *to)
{
	bool in_ta = running->secure && !running->el;
	const struct label *label = NULL;
	uint64_t thread;
	uint64_t bias;

	if (in_ta && depth_knows_ta(&bias))
		label = labels_at(to->pc - bias, true);
	else if (!in_ta && in_own_program())
		label = labels_at(to->pc, false);
	if (!label)
		return;
	thread = in_ta ? calling_thread(to->pc) : processor_thread();
	if (!in_ta)
		leave_calls(thread);
	if (label->ends)
		end_labelled(label->call, to->pc, thread);
	else
		begin_labelled(label->call, to->pc, in_ta, thread);
}

/* The program ends, or one thread of it: no call of it returns any more. */
static void look_for_exit(void)
{
	uint64_t number;
	size_t last;

	if (processor_el() != 1 || processor_secure() || processor_exception_class() != CLASS_SVC ||
	    processor_user_space() != own_space)
		return;
	number = processor_x(SYSCALL_NUMBER_IN);
	while (number == SYSCALL_EXIT_GROUP && nested && passes[nested - 1].call)
		end_call(nested - 1, "exit");
	while (number == SYSCALL_EXIT && (last = innermost(processor_thread())))
		end_call(last - 1, "exit");
}

/* The innermost open call that returns to `pc` with the stack pointer `sp`, counted from 1; 0 if none does. */
static size_t returning(uint64_t pc, uint64_t sp)
{
	size_t found = nested;

	while (found > 0 && passes[found - 1].call && (passes[found - 1].back != pc || passes[found - 1].sp != sp))
		found--;
	return found && passes[found - 1].call ? found : 0;
}

/* Whether an open call returns to `pc`, whatever the stack pointer is. */
static bool is_awaited(uint64_t pc)
{
	for (size_t i = nested; i-- > 0 && passes[i].call;)
		if (passes[i].back == pc)
			return true;
	return false;
}

void regions_look_for_return(struct block *to)
{
	uint64_t sp;
	size_t found;
	size_t last;

	if (block_is_vector(to)) {
		look_for_exit();
		return;
	}
	if (!is_awaited(to->pc) || !in_own_program())
		return;
	sp = processor_sp();
	/* More than one: a function that jumped to another as its last act. */
	while ((found = returning(to->pc, sp))) {
		/* What it called and did not return was left, as longjmp does. */
		while ((last = innermost(passes[found - 1].thread)) > found)
			end_call(last - 1, "left");
		end_call(found - 1, "returned");
	}
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
		begin_pass(to->pc, nested);
		want_reading(to, false);
	} else if (to->ends && nested) {
		while (passes[nested - 1].call)
			end_call(nested - 1, "ended");
		end_pass(nested - 1);
		want_reading(to, true);
	}
}

void regions_finish(void)
{
	if (nested)
		trace_give_up("the machine ended inside a region", passes[nested - 1].mark);
}
