/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worlds.h"

#include <stdbool.h>
#include <stddef.h>

#include "events.h"
#include "processor.h"
#include "stack.h"
#include "threads.h"

static const char *exception_name(uint64_t vector)
{
	static const char *const names[] = { "sync", "irq", "fiq", "serror" };

	return names[(vector / VECTOR_ALIGNMENT) & 3];
}

void worlds_exception(const struct block *to)
{
	unsigned int el = processor_el();
	uint64_t back = processor_return_address();
	struct node *interrupted = stack_node();

	running = context_of(el, el == 3 ? true : running->secure, el == 3 ? 0 : running->task);
	stack_push(NODE_EXCEPTION, back, to->pc, back, interrupted);
	event_write(exception_name(to->pc), back, to->pc);
}

/* The depth of the innermost exception's frame that an ERET from this level ends; 0 if there is none. */
static size_t exception_depth(unsigned int el)
{
	for (size_t depth = shadow.depth; depth > 0; depth--) {
		const struct frame *frame = &shadow.frames[depth - 1];

		if (frame->kind == NODE_EXCEPTION && frame->to_el == el && !frame->passed)
			return depth;
		if (frame->kind == NODE_TASK || frame->kind == NODE_REGION)
			return 0;
		if (frame->kind == NODE_EXCEPTION && frame->to_el > el)
			return 0;
	}
	return 0;
}

/* Where the flow goes on: a program that was not left by an exception begins. */
static void enter(const struct context *context, uint64_t site, uint64_t to)
{
	running = context;
	stack_push(NODE_ENTER, site, to, 0, stack_node());
}

/* Ends the frame at `depth`, and all above it: what it interrupted goes on. */
static void end_exception(size_t depth)
{
	stack_cut(depth - 1);
	running = shadow.frames[depth - 2].context;
}

/* The depth of the frame of a call of the monitor that came from that world and goes on at `to`; 0 for none. */
static size_t monitor_call_depth(uint64_t to, bool secure)
{
	for (size_t depth = shadow.depth; depth > 1; depth--) {
		const struct frame *frame = &shadow.frames[depth - 1];

		if (frame->kind == NODE_EXCEPTION && frame->to_el == 3 && frame->back == to &&
		    shadow.frames[depth - 2].context->secure == secure)
			return depth;
	}
	return 0;
}

static void eret_from_monitor(uint64_t to, unsigned int el)
{
	bool secure = processor_secure();
	size_t depth = monitor_call_depth(to, secure);
	uint64_t site = 0;

	if (depth) {
		end_exception(depth);
		return;
	}
	depth = exception_depth(3);
	if (depth) {
		struct frame *frame = &shadow.frames[depth - 1];

		/* What EL3 did is done; the world it goes on to was asked for by the one that waits below. */
		stack_cut(depth);
		frame->passed = true;
		frame->node = frame->outside;
		site = frame->back - INSTRUCTION_BYTES;
	}
	enter(context_of(el, secure, 0), site, to);
}

static void eret_in_secure_world(uint64_t site, uint64_t to, unsigned int el)
{
	size_t depth;

	if (threads_resume(to)) {
		/* Either the thread was interrupted there, or it asked for an RPC, whose answer is there. */
		depth = shadow.depth;
		if (shadow.frames[depth - 1].kind == NODE_EXCEPTION && shadow.frames[depth - 1].back == to)
			stack_cut(depth - 1);
		running = context_of(el, true, 0);
		return;
	}
	depth = exception_depth(running->el);
	if (depth && shadow.frames[depth - 1].back == to)
		end_exception(depth);
	else
		enter(context_of(el, true, 0), site, to);
}

static void eret_in_normal_world(uint64_t site, uint64_t to, unsigned int el)
{
	size_t depth = exception_depth(running->el);

	if (depth) {
		uint64_t back = shadow.frames[depth - 1].back;

		end_exception(depth);
		/* Elsewhere than where it came from: a system call made again, an instruction emulated; or it is lost. */
		if (to == back || el || to == back - INSTRUCTION_BYTES || to == back + INSTRUCTION_BYTES)
			return;
		if (running->el || running->space == processor_user_space()) {
			stack_lose(back, to);
			return;
		}
	}
	/* A task whose user part was not seen yet, or another program after exec. */
	depth = shadow.depth;
	while (depth > 1 && shadow.frames[depth - 1].kind != NODE_TASK && shadow.frames[depth - 1].kind != NODE_REGION)
		depth--;
	stack_cut(depth);
	enter(context_of(el, false, running->task), site, to);
}

void worlds_eret(uint64_t site, uint64_t to, unsigned int el)
{
	if (running->el == 3)
		eret_from_monitor(to, el);
	else if (running->secure)
		eret_in_secure_world(site, to, el);
	else
		eret_in_normal_world(site, to, el);
	event_write("eret", site, to);
}
