/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "regions.h"

#include <stddef.h>
#include <string.h>

#include <glib.h>

#include "arguments.h"
#include "depth.h"
#include "heap.h"
#include "names.h"
#include "passes.h"
#include "processor.h"
#include "stack.h"
#include "trace.h"

/* System calls of Linux on AArch64 that end a thread and a process, and the class of exceptions that they are. */
#define SYSCALL_EXIT 93
#define SYSCALL_EXIT_GROUP 94
#define SYSCALL_NUMBER_IN 8
#define CLASS_SVC 0x15u
#define LINK 30

static uint64_t begins_at; /* the mrs of a mark that was passed; 0 if that was executed */
static uint64_t mark;      /* and the address of the mark */

size_t open_calls;
size_t ta_calls_open;
static uint64_t own_space; /* the translation table of the program whose calls are regions; 0 until it begins */

uint64_t reading_at;
static unsigned int reading_in; /* the x register it is in */
static bool reading_ends;       /* it is for the end of a pass, else for the begin of the innermost */

void regions_take_reading(void)
{
	uint64_t value = processor_x(reading_in);

	reading_at = 0;
	if (reading_ends)
		passes_write(value);
	else if (nested)
		passes[nested - 1].begin = value;
}

/* Ends a pass that is a call, as passes_end(). The counter is what it would be if the program read it now. */
static void end_call(size_t at, const char *how)
{
	struct pass *pass = &passes[at];
	bool returned = !strcmp(how, "returned");

	pass->how = how;
	pass->result = returned ? processor_x(0) : 0;
	passes_end(at);
	/* Its own frame is gone. */
	ended.closed = !returned || ended.pass.labelled ||
		       (ended.depth == ended.pass.depth - 1 && stack_node() == ended.pass.outside);
	open_calls--;
	ta_calls_open -= ended.pass.core_back != 0;
	passes_write(ended.pass.begin + ended.instructions);
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

	while ((last = passes_innermost(thread)) && sp >= passes[last - 1].sp && passes[last - 1].id != here)
		end_call(last - 1, "left");
}

static struct pass *begin_call(unsigned int call, uint64_t pc, uint64_t thread)
{
	struct pass *pass = &passes[nested];

	passes_begin(pc, pc, passes_around_call(thread));
	open_calls++;
	pass->begin = passes[0].begin + pass->at;
	pass->call = call;
	pass->thread = thread;
	(void)g_strlcpy(pass->name, names_of(running->task), NAME_BYTES);
	/* Not before: it is a call of a thread from now on. */
	passes_own_begins();
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
	if (!passes_shared)
		return passes[nested - 1].thread;
	for (size_t i = shadow.depth; i-- > 0;) {
		size_t found = shadow.frames[i].pass ? passes_number_of(shadow.frames[i].pass) : 0;

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
	       (passes[found - 1].call != call || (passes_shared && passes[found - 1].thread != thread)))
		found--;
	if (!found || !passes[found - 1].call)
		return;
	if (passes[found - 1].inner)
		passes[found - 1].inner--;
	else if (found < passes_innermost(passes[found - 1].thread))
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

/* The program is in a function of its allocator, or behind one: who called that. */
static struct heap_caller caller_at(uint64_t back)
{
	return (struct heap_caller){ .thread = processor_thread(), .sp = processor_sp(), .back = back };
}

void regions_allocator(const struct block *to)
{
	uint64_t given[HEAP_GIVEN];
	struct heap_caller caller;

	if (!in_own_program())
		return;
	caller = caller_at(processor_x(LINK));
	for (unsigned int i = 0; i < HEAP_GIVEN; i++)
		given[i] = processor_x(i);
	heap_enter(to->heap, &caller, given);
}

void regions_allocated(const struct block *to)
{
	struct heap_caller caller;

	if (!in_own_program())
		return;
	caller = caller_at(to->pc);
	(void)heap_return(&caller, processor_x(0));
}

/* The registers in which OP-TEE's system calls have their arguments. */
#define TA_UUID 0
#define TA_SESSION 0
#define TA_COMMAND 2
#define TA_SESSION_PLACE 3

/*
 * OP-TEE's core begins to do what a TA has asked of another one. Recorded are the session, the command and whose that is:
 * the number of the TA's address space; of one that opens a session the UUID, and the session once it is there.
 */
void regions_ta_calls(const struct block *to)
{
	struct pass *pass;

	if (!running->secure || running->el != 1)
		return;
	if (nested == MAX_NESTED) {
		trace_give_up("calls that are regions stand in one another too deeply", to->pc);
		return;
	}
	pass = begin_call((unsigned int)arguments.ta_calls + to->ta_call - 1, to->pc, calling_thread(to->pc));
	pass->labelled = true;
	/* No function of the program that is entered leaves it. */
	pass->sp = UINT64_MAX;
	pass->core_back = processor_x(LINK);
	pass->core_sp = processor_sp();
	ta_calls_open++;
	pass->given[3] = processor_space_number();
	if (to->pc == arguments.ta_opens) {
		pass->given[0] = processor_pointer(processor_x(TA_UUID));
		pass->given[1] = processor_pointer(processor_x(TA_UUID) + 8);
		pass->given[2] = processor_x(TA_SESSION_PLACE);
	} else {
		pass->given[0] = processor_x(TA_SESSION);
		pass->given[1] = to->pc == arguments.ta_invokes ? processor_x(TA_COMMAND) : 0;
	}
}

void regions_ta_called(const struct block *to)
{
	size_t found = nested;
	struct pass *pass;
	size_t last;

	while (found > 0 && passes[found - 1].call && passes[found - 1].core_back != to->pc)
		found--;
	if (!found || !passes[found - 1].call || running->el != 1 || processor_sp() != passes[found - 1].core_sp)
		return;
	pass = &passes[found - 1];
	if (pass->mark == arguments.ta_opens)
		pass->given[2] = (uint32_t)processor_pointer(pass->given[2]);
	while ((last = passes_innermost(pass->thread)) > found)
		end_call(last - 1, "left");
	end_call(found - 1, "returned");
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
	while (number == SYSCALL_EXIT && (last = passes_innermost(processor_thread())))
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
		while ((last = passes_innermost(passes[found - 1].thread)) > found)
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
		if (!nested)
			own_space = 0;
		passes_begin(mark, to->pc, nested);
		want_reading(to, false);
	} else if (to->ends && nested) {
		while (passes[nested - 1].call)
			end_call(nested - 1, "ended");
		passes_end(nested - 1);
		want_reading(to, true);
	}
}

void regions_finish(void)
{
	if (nested)
		trace_give_up("the machine ended inside a region", passes[nested - 1].mark);
}
