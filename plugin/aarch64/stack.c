/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack.h"

#include <string.h>

#include "functions.h"
#include "tables.h"
#include "trace.h"

/* Direct-mapped, in front of the table of nodes: nearly every call was made before. */
#define CACHED_CALLS (1u << 15)

struct stack shadow;
const struct context *running;
size_t lost_depth;

static struct node *call_cache[CACHED_CALLS];

void stack_begin(uint64_t mark, uint64_t pc)
{
	shadow.depth = 1;
	shadow.frames[0] = (struct frame){ .node = node_of(NULL, NODE_REGION, mark, pc, running),
					   .kind = NODE_REGION,
					   .to_el = running->el,
					   .context = running };
	lost_depth = 0;
}

/* A frame of the running context on top; its other fields are 0. NULL, and gives up, if there are too many. */
static struct frame *add_frame(enum node_kind kind, uint64_t target)
{
	struct frame *frame;

	if (shadow.depth == MAX_DEPTH) {
		trace_give_up("the stack is deeper than this plugin can follow", target);
		return NULL;
	}
	frame = &shadow.frames[shadow.depth++];
	*frame = (struct frame){ .kind = kind, .to_el = running->el, .context = running };
	return frame;
}

void stack_push(enum node_kind kind, uint64_t site, uint64_t target, uint64_t back, struct node *outside)
{
	struct frame *frame = add_frame(kind, target);

	if (!frame)
		return;
	frame->node = node_of(outside, kind, functions_site(site), target, running);
	frame->outside = outside;
	frame->back = back;
}

void stack_lose(uint64_t site, uint64_t target)
{
	stack_push(NODE_LOST, site, target, 0, stack_node());
	if (!lost_depth)
		lost_depth = shadow.depth;
}

/* The node of a call, by the cache. */
static struct node *node_of_call(struct node *caller, uint64_t site, uint64_t target)
{
	struct node **cached = &call_cache[hash_pair((uintptr_t)caller, site ^ target << 20) % CACHED_CALLS];
	struct node *node = *cached;

	if (!node || node->parent != caller || node->site != site || node->target != target ||
	    node->kind != NODE_CALL || node->context != running) {
		node = node_of(caller, NODE_CALL, site, target, running);
		*cached = node;
	}
	return node;
}

void stack_call(const struct block *from, uint64_t to)
{
	struct node *caller = stack_node();
	struct node *node = node_of_call(caller, from->site, to);
	struct frame *frame = add_frame(NODE_CALL, to);

	if (!frame)
		return;
	frame->node = node;
	frame->outside = caller;
	frame->back = from->end;
}

bool stack_waits_for(uint64_t to)
{
	for (size_t depth = shadow.depth; depth > 0; depth--) {
		const struct frame *frame = &shadow.frames[depth - 1];

		if (frame->kind != NODE_CALL)
			return false;
		if (frame->back == to)
			return true;
	}
	return false;
}

/* Whether nothing above a frame can return to one below it: another world or exception level waits there. */
static bool is_barrier(const struct frame *frame)
{
	return frame->kind == NODE_TASK || frame->kind == NODE_REGION ||
	       (frame->kind == NODE_EXCEPTION && (frame->to_el == 3 || !running->secure));
}

void stack_return_far(const struct block *from, uint64_t to)
{
	const struct frame *top = &shadow.frames[shadow.depth - 1];

	for (size_t depth = shadow.depth; depth > 0; depth--) {
		const struct frame *frame = &shadow.frames[depth - 1];

		if ((frame->kind == NODE_CALL || frame->kind == NODE_UNWOUND) && frame->back == to &&
		    frame->to_el == running->el) {
			stack_cut(depth - 1);
			return;
		}
		if (is_barrier(frame))
			break;
	}
	/* What was not called cannot return: it uses RET to jump, as Linux's vectors do against speculation. */
	if (top->kind != NODE_EXCEPTION && top->kind != NODE_ENTER)
		stack_lose(block_last(from), to);
}

void stack_copy(struct stack *copy, size_t from, size_t to)
{
	copy->depth = to - from;
	memcpy(copy->frames, shadow.frames + from, copy->depth * sizeof(copy->frames[0]));
}

void stack_restore(const struct stack *copy)
{
	memcpy(shadow.frames, copy->frames, copy->depth * sizeof(copy->frames[0]));
	stack_cut(copy->depth);
}

struct json_object *stack_callers(void)
{
	struct json_object *callers = json_object_new_array();

	for (size_t depth = shadow.depth; depth > 0; depth--) {
		const struct frame *frame = &shadow.frames[depth - 1];

		if (frame->kind != NODE_CALL && frame->kind != NODE_UNWOUND)
			break;
		json_object_array_add(callers, json_object_new_uint64(frame->back));
	}
	return callers;
}
