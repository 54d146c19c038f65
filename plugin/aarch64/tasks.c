/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tasks.h"

#include <stddef.h>

#include <glib.h>

#include "decode.h"
#include "events.h"
#include "names.h"
#include "processor.h"
#include "stack.h"
#include "tables.h"

uint64_t next_task;

static GHashTable *stacks; /* task_struct -> struct stack, of tasks that do not run */
static uint64_t stopping;  /* cpu_switch_to was called: the task that stops */

void tasks_start(void)
{
	stacks = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

void tasks_forget(void)
{
	next_task = 0;
	g_hash_table_remove_all(stacks);
}

void tasks_switch_begins(void)
{
	stopping = processor_x(0);
	next_task = processor_x(1);
}

static void keep_stack(uint64_t task)
{
	struct stack *copy = g_new(struct stack, 1);

	stack_copy(copy, 0, shadow.depth);
	g_hash_table_insert(stacks, as_pointer(task), copy);
}

/* Callers that are known from memory alone, outermost first, below what runs now. */
static void push_unwound(void)
{
	uint64_t returns[MAX_UNWOUND];
	size_t count = processor_unwind(returns);

	for (size_t i = count; i-- > 0;)
		stack_push(NODE_UNWOUND, returns[i] - INSTRUCTION_BYTES, 0, returns[i], stack_node());
}

static void begin_task(uint64_t task)
{
	running = context_of(running->el, running->secure, task);
	stack_cut(1);
	stack_push(NODE_TASK, 0, task, 0, stack_node());
	push_unwound();
}

void tasks_return(uint64_t to)
{
	uint64_t task = next_task;
	const struct stack *kept;

	next_task = 0;
	keep_stack(stopping);
	kept = g_hash_table_lookup(stacks, as_pointer(task));
	if (kept && kept->frames[kept->depth - 1].back == to) {
		stack_restore(kept);
		stack_cut(shadow.depth - 1);
		running = shadow.frames[shadow.depth - 1].context;
		g_hash_table_remove(stacks, as_pointer(task));
	} else {
		names_forget(task);
		g_hash_table_remove(stacks, as_pointer(task));
		begin_task(task);
	}
	event_write("task", 0, to);
}
