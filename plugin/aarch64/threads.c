/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "threads.h"

#include <stddef.h>

#include <glib.h>

#include "processor.h"
#include "stack.h"
#include "tables.h"

/* The secure world's part of the stack of a thread that does not run. */
struct suspended {
	struct stack stack;
	size_t base;   /* frames that were below it; 0 if the region began in the thread itself */
	uint64_t back; /* where it will go on */
};

static GHashTable *threads;     /* a thread's registers -> struct suspended; 0 for the thread a region began in */
static uint64_t current_thread; /* its registers; 0 if it has not been resumed */
static uint64_t resuming;       /* thread_resume was called: the thread's registers; else 0 */

void threads_start(void)
{
	threads = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

void threads_forget(void)
{
	current_thread = 0;
	resuming = 0;
	g_hash_table_remove_all(threads);
}

/* How many frames from the bottom belong to the normal world and to the monitor: what is above is the secure world's. */
static size_t secure_base(void)
{
	size_t depth = shadow.depth;

	while (depth > 0 && !shadow.frames[depth - 1].passed)
		depth--;
	return depth;
}

void threads_suspend(void)
{
	size_t base = secure_base();
	struct suspended *thread;

	if (base >= shadow.depth)
		return;
	thread = g_new(struct suspended, 1);
	thread->base = base;
	thread->back = processor_x(2); /* its argument pc */
	/* Without the call that has just been pushed. */
	stack_copy(&thread->stack, base, shadow.depth - 1);
	g_hash_table_insert(threads, as_pointer(current_thread), thread);
}

void threads_resume_begins(void)
{
	resuming = processor_x(0);
}

/* Its frames are what they were, but the nodes stand under the world's entry of this time. */
static void put_above(size_t base, const struct stack *frames)
{
	struct node *node;

	stack_cut(base);
	node = stack_node();
	for (size_t i = 0; i < frames->depth && shadow.depth < MAX_DEPTH; i++) {
		const struct frame *kept = &frames->frames[i];
		struct frame *frame = &shadow.frames[shadow.depth++];

		running = kept->context;
		*frame = *kept;
		frame->outside = node;
		frame->node = node_of(node, kept->kind, kept->node->site, kept->node->target, running);
		node = frame->node;
	}
}

/*
 * The thread of those registers, and the key it is kept under. The one that ran when a region began is not known by its
 * registers yet, but by the place where it stopped. NULL if it is neither.
 */
static const struct suspended *find_thread(uint64_t registers, uint64_t to, uint64_t *key)
{
	const struct suspended *thread = g_hash_table_lookup(threads, as_pointer(registers));

	*key = registers;
	if (thread)
		return thread;
	*key = 0;
	thread = g_hash_table_lookup(threads, as_pointer(0));
	return thread && thread->back == to ? thread : NULL;
}

bool threads_resume(uint64_t to)
{
	const struct suspended *thread;
	uint64_t key;

	if (!resuming)
		return false;
	current_thread = resuming;
	resuming = 0;
	thread = find_thread(current_thread, to, &key);
	if (!thread)
		return false;
	if (thread->base)
		put_above(secure_base(), &thread->stack);
	else
		/* The region's own frame is among them, and what called the thread was never known. */
		stack_restore(&thread->stack);
	g_hash_table_remove(threads, as_pointer(key));
	return true;
}
