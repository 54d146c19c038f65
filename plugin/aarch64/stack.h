/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shadow stack: what waits for what runs now, kept through calls and returns. Mode stack alone changes it. */
#ifndef WORLDWISE_STACK_H
#define WORLDWISE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "tree.h"

#define MAX_DEPTH 1024

struct frame {
	struct node *node;
	struct node *outside; /* the node that was interrupted or calls */
	uint64_t back;        /* where it returns to; 0 if it does not */
	enum node_kind kind;
	unsigned int to_el; /* of an exception */
	const struct context *context;
	uint64_t sp;   /* the stack pointer at its first instruction, where depth.c watches; else 0 */
	uint32_t pass; /* of a call that is a region: the pass that began on this frame last; else 0 */
	bool passed;   /* EL3 went on into the other world: nothing of EL3 is above */
};

struct stack {
	struct frame frames[MAX_DEPTH]; /* outermost first; the first is the region's */
	size_t depth;
};

/* Of what runs now. It has a frame from stack_begin() on. */
extern struct stack shadow;
/* Where what runs now runs. Whoever changes the world, level or task changes it, before he pushes a frame. */
extern const struct context *running;
/* The depth at which the stack was lost, 0 if it is not. */
extern size_t lost_depth;

/* The node of what runs now. */
static inline struct node *stack_node(void)
{
	return shadow.frames[shadow.depth - 1].node;
}

/* Begins a stack of one frame, for a region whose mark is at `mark` and whose first instruction is at `pc`. */
void stack_begin(uint64_t mark, uint64_t pc);

/* Pushes a frame of the running context, whose node stands under `outside`. Gives up if there are too many frames. */
void stack_push(enum node_kind kind, uint64_t site, uint64_t target, uint64_t back, struct node *outside);

/* Leaves `depth` frames, at most those there are. */
static inline void stack_cut(size_t depth)
{
	shadow.depth = depth;
	if (lost_depth > depth)
		lost_depth = 0;
}

/* Pushes a frame that says that the flow went from `site` to `target` and nobody knows why. */
void stack_lose(uint64_t site, uint64_t target);

/* The block `from` called `to`. */
void stack_call(const struct block *from, uint64_t to);

/* Whether a call since the last exception, world switch or begin of a region returns to `to`. */
bool stack_waits_for(uint64_t to);

/* The rest of stack_return(). */
void stack_return_far(const struct block *from, uint64_t to);

/*
 * The block `from` returned to `to`: cuts the frames up to the one that waits there. The stack is lost if none does,
 * unless code that was not called uses RET to jump.
 */
static inline void stack_return(const struct block *from, uint64_t to)
{
	const struct frame *top = &shadow.frames[shadow.depth - 1];

	/* Nearly every return. */
	if (top->kind == NODE_CALL && top->back == to)
		stack_cut(shadow.depth - 1);
	else
		stack_return_far(from, to);
}

/* Copies the frames `from` to `to` - 1, counted from 0, into a stack of their own. */
void stack_copy(struct stack *copy, size_t from, size_t to);
/* Puts a copy, from the first frame on, in the place of all frames. */
void stack_restore(const struct stack *copy);

struct json_object; /* see trace.h */

/* Where the calls since the last exception, world switch or begin of a region return to, the innermost first. */
struct json_object *stack_callers(void);

#endif /* WORLDWISE_STACK_H */
