/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "depth.h"

#include <stddef.h>
#include <string.h>

#include "arguments.h"
#include "decode.h"
#include "processor.h"
#include "regions.h"
#include "stack.h"

#define MAX_NESTED 64
#define CLASS_SVC 0x15u
/* The system call by which a TA returns to OP-TEE's core, and where its number is. */
#define TA_RETURN 0u
#define TA_NUMBER_IN 8
/* What is ahead of the first piece of the heap: the head of the free one, which begins at a multiple of 16. */
#define HEAP_ALIGNED 16u
#define HEAP_HEAD 32u

/* The lowest stack pointer on one stack. */
struct deepest {
	uint64_t from;   /* where the stack pointer was at first; 0 if nobody looked */
	uint64_t lowest; /* that it got to */
	struct node *node;
	uint64_t pc;
	size_t count; /* frames on the way there, each with how far below `from` it began */
	uint64_t way[MAX_DEPTH];
};

struct level {
	const struct context *context; /* of a call: where its stack is; else NULL */
	size_t base;                   /* the depth of its own frame */
	struct deepest own;
	struct deepest ta;
	uint64_t heap; /* of the TA, in bytes */
	bool untold;   /* what is known of the TA may be another thread's */
};

static struct level levels[MAX_NESTED + 1]; /* the last one is what ended */
static size_t count;
static bool is_moved;     /* the block before did: the processor has to say where to */
static uint64_t ta_top;   /* where the TA's stack pointer was as it was entered; 0 if it was not */
static uint64_t ta_bias;  /* how far above its link address it is */
static uint64_t ta_space; /* the number of its address space */

void depth_forget(void)
{
	count = 0;
	ta_top = 0;
}

void depth_begin(void)
{
	if (count < MAX_NESTED)
		levels[count++] = (struct level){ .base = shadow.depth };
}

/* Whether another TA runs, which this one has called: it lies at the same addresses. */
static bool is_other_ta(void)
{
	return ta_calls_open && processor_space_number() != ta_space;
}

bool depth_knows_ta(uint64_t *bias)
{
	*bias = ta_bias;
	return ta_top && !is_other_ta();
}

void depth_of_call(uint64_t sp)
{
	struct level *level = &levels[count - 1];
	struct frame *top = &shadow.frames[shadow.depth - 1];

	level->context = running;
	level->own.from = level->own.lowest = sp;
	level->own.node = stack_node();
	level->own.pc = level->own.node->target;
	level->own.count = 1;
	/* A label stands behind a function's first instruction. */
	if (!top->sp)
		top->sp = sp;
}

/* Takes the stack pointer `sp`, in the block at `pc`, if none was lower. The way to it begins at the frame `base`. */
static void take(struct deepest *of, uint64_t sp, uint64_t pc, size_t base)
{
	uint64_t before = of->from;

	if (of->node && sp >= of->lowest)
		return;
	of->lowest = sp;
	of->node = stack_node();
	of->pc = pc;
	of->count = shadow.depth - base;
	for (size_t i = 0; i < of->count; i++) {
		uint64_t at = shadow.frames[base + i].sp;

		/* Of a frame that was not seen to begin nobody knows: it takes nothing. */
		before = at && at <= before ? at : before;
		of->way[i] = of->from - before;
	}
}

static void keep_deeper(struct deepest *outer, const struct deepest *inner)
{
	if (inner->from && (!outer->from || inner->from - inner->lowest > outer->from - outer->lowest))
		memcpy(outer, inner, offsetof(struct deepest, way) + inner->count * sizeof(inner->way[0]));
}

/* The way of a call within another one, on the same stack: it begins at the outer one's frame. */
static void take_inner(struct level *outer, const struct level *inner)
{
	struct deepest *to = &outer->own;
	const struct deepest *from = &inner->own;
	size_t ahead = inner->base - outer->base;
	uint64_t before = to->from;

	if (!outer->context || outer->context != inner->context || from->lowest >= to->lowest ||
	    ahead + from->count > MAX_DEPTH)
		return;
	for (size_t i = 0; i < ahead; i++) {
		uint64_t at = shadow.frames[outer->base - 1 + i].sp;

		before = at && at <= before ? at : before;
		to->way[i] = to->from - before;
	}
	for (size_t i = 0; i < from->count; i++)
		to->way[ahead + i] = to->from - (from->from - from->way[i]);
	to->lowest = from->lowest;
	to->node = from->node;
	to->pc = from->pc;
	to->count = ahead + from->count;
}

void depth_share(void)
{
	for (size_t i = 1; i < count; i++)
		levels[i].untold = true;
}

void depth_end(size_t at, size_t around, bool on_stack)
{
	struct level *ended = &levels[at];

	if (at >= count)
		return;
	if (around) {
		struct level *outer = &levels[around - 1];

		if (on_stack)
			take_inner(outer, ended);
		keep_deeper(&outer->ta, &ended->ta);
		if (ended->heap > outer->heap)
			outer->heap = ended->heap;
	}
	levels[MAX_NESTED] = *ended;
	count--;
	memmove(ended, ended + 1, (count - at) * sizeof(*ended));
}

void depth_write_nodes(void)
{
	const struct level *ended = &levels[MAX_NESTED];

	if (ended->context && ended->own.node)
		node_write(ended->own.node);
	if (ended->ta.node)
		node_write(ended->ta.node);
}

static struct json_object *way_of(const struct deepest *of)
{
	struct json_object *way = json_object_new_array();

	for (size_t i = 0; i < of->count; i++)
		json_object_array_add(way, json_object_new_uint64(of->way[i]));
	return way;
}

void depth_write(struct json_object *record)
{
	const struct level *ended = &levels[MAX_NESTED];

	if (ended->context && ended->own.node) {
		record_number(record, "stack", ended->own.from - ended->own.lowest);
		record_number(record, "stack_frame", ended->own.node->id);
		record_address(record, "stack_pc", ended->own.pc);
		record_value(record, "stack_path", way_of(&ended->own));
	}
	if (ended->ta.node && !ended->untold) {
		record_number(record, "ta_stack", ended->ta.from - ended->ta.lowest);
		record_number(record, "ta_frame", ended->ta.node->id);
		record_address(record, "ta_pc", ended->ta.pc);
		record_value(record, "ta_path", way_of(&ended->ta));
		record_number(record, "ta_heap", ended->heap);
	}
}

/* Whether a block is the TA's first. */
static bool is_ta_entry(const struct block *to)
{
	return arguments.ta_stack && !((to->pc ^ arguments.ta_entry) & (PAGE_BYTES - 1)) &&
	       decode_word(to->code) == arguments.ta_word;
}

/* The index of the frame in which the TA was entered. */
static size_t ta_base(void)
{
	size_t depth = shadow.depth;

	while (depth > 1 && shadow.frames[depth - 1].kind != NODE_ENTER)
		depth--;
	return depth - 1;
}

static void look_at_ta(const struct block *to, uint64_t sp)
{
	struct deepest *of = &levels[count - 1].ta;

	/* Another program of that world has a stack of its own: what loads the TA, or another TA. */
	if (!ta_top || sp > ta_top || ta_top - sp > arguments.ta_stack || is_other_ta())
		return;
	if (of->from != ta_top)
		*of = (struct deepest){ .from = ta_top, .lowest = ta_top };
	take(of, sp + (uint64_t)(int64_t)to->deepest, to->pc, ta_base());
}

/* The TA returns to OP-TEE's core, whose exception arrives: how far its heap is taken. */
static void look_at_heap(void)
{
	struct level *level = &levels[count - 1];
	uint64_t end = ta_bias + arguments.ta_heap + arguments.ta_heap_bytes;
	uint64_t begin;
	uint64_t taken;

	if (!ta_top || !arguments.ta_heap || ta_calls_open || processor_exception_class() != CLASS_SVC ||
	    processor_x(TA_NUMBER_IN) != TA_RETURN || shadow.depth < 2 || shadow.frames[shadow.depth - 2].context->el)
		return;
	begin = (ta_bias + arguments.ta_heap + HEAP_ALIGNED - 1) & ~(uint64_t)(HEAP_ALIGNED - 1);
	taken = end - processor_first_written(begin + HEAP_HEAD, end);
	if (taken > level->heap)
		level->heap = taken;
}

/* The innermost call of the thread that runs, or the innermost pass of all if it has none. */
static struct level *level_here(void)
{
	for (size_t i = count; i > 0 && levels[i - 1].context; i--)
		if (levels[i - 1].context == running)
			return &levels[i - 1];
	return &levels[count - 1];
}

void depth_look(struct block *to)
{
	struct frame *top = &shadow.frames[shadow.depth - 1];
	struct level *level;
	bool asked = is_moved;
	uint64_t sp;

	if (!count)
		return;
	level = level_here();
	if (running->el) {
		if (running->secure && running->el == 1 && arguments.ta_heap && block_is_vector(to))
			look_at_heap();
		return;
	}
	if (!running->secure && running != level->context)
		return;
	is_moved = to->moves_stack;
	if (running->secure && is_ta_entry(to) && !ta_calls_open) {
		/* Of a TA of 32 bits no stack pointer is shown: it is known to be there, and no more. */
		ta_top = to->set == SET_A64 ? processor_sp() : 1;
		ta_bias = to->pc - arguments.ta_entry;
		ta_space = processor_space_number();
	} else if (!asked && !to->deepest && top->sp) {
		return;
	}
	if (to->set != SET_A64)
		return;
	sp = processor_sp();
	if (!top->sp)
		top->sp = sp;
	if (running->secure)
		look_at_ta(to, sp);
	else
		take(&level->own, sp + (uint64_t)(int64_t)to->deepest, to->pc, level->base - 1);
}
