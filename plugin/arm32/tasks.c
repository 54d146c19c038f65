/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tasks.h"

#include <stddef.h>

#include <glib.h>

#include "../aarch64/events.h"
#include "../aarch64/processor.h"
#include "../aarch64/stack.h"
#include "processor.h"

#define SYSCALL_NUMBER_IN 7u
/* Linux's private system call of Armv7: it sets the thread pointer. */
#define SYSCALL_SET_TLS 0xf0005u
/* The longest instruction: a system call that is made again, or an instruction that the kernel has made possible. */
#define LONGEST 4u

struct task {
	uint32_t id;
	uint64_t space;
	uint32_t thread;
	uint32_t called;
	bool runs;
	size_t handler;     /* the depth from which on its stack is that of a signal's handler; 0 if it runs none */
	struct stack stack; /* while it does not run */
};

static GPtrArray *tasks;
static struct task *current;
static uint32_t last_id;

static struct task *add(uint32_t id, uint64_t space, uint32_t thread)
{
	struct task *task = g_new0(struct task, 1);

	task->id = id;
	task->space = space;
	task->thread = thread;
	g_ptr_array_add(tasks, task);
	return task;
}

void flat_tasks_begin(void)
{
	if (!tasks)
		tasks = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_set_size(tasks, 0);
	current = add(0, processor_user_space(), flat_processor_thread());
	current->runs = true;
}

void flat_tasks_call(void)
{
	current->called = flat_processor_register(SYSCALL_NUMBER_IN);
}

uint32_t flat_tasks_current(void)
{
	return current->id;
}

uint64_t flat_tasks_space(void)
{
	return current->space;
}

uint32_t flat_tasks_called(void)
{
	return current->called;
}

bool flat_tasks_handles(void)
{
	if (shadow.depth < current->handler)
		current->handler = 0;
	return current->handler;
}

/* Whether an exception that goes back to `back` has gone on at `to`. */
static bool goes_on(uint64_t back, uint64_t to)
{
	return to == back || to == back - 2 || to == back - LONGEST;
}

/* The depth of the innermost exception's frame of the stack that goes on at `to`; 0 if none does. */
static size_t waiting(const struct stack *stack, uint64_t to)
{
	for (size_t depth = stack->depth; depth > 1; depth--) {
		const struct frame *frame = &stack->frames[depth - 1];

		if (frame->kind == NODE_EXCEPTION && goes_on(frame->back, to))
			return depth;
	}
	return 0;
}

static const struct stack *stack_of(const struct task *task)
{
	return task->runs ? &shadow : &task->stack;
}

/* The task with that table and thread pointer; or the one that has just got that thread pointer. NULL for neither. */
static struct task *find(uint64_t space, uint32_t thread, uint64_t to)
{
	for (guint i = 0; i < tasks->len; i++) {
		struct task *task = g_ptr_array_index(tasks, i);

		if (task->space == space && task->thread == thread)
			return task;
	}
	for (guint i = 0; i < tasks->len; i++) {
		struct task *task = g_ptr_array_index(tasks, i);

		if (task->space == space && task->called == SYSCALL_SET_TLS && waiting(stack_of(task), to)) {
			task->thread = thread;
			return task;
		}
	}
	return NULL;
}

static void resume(struct task *task)
{
	if (task == current)
		return;
	stack_copy(&current->stack, 0, shadow.depth);
	current->runs = false;
	current = task;
	current->runs = true;
	if (task->stack.depth)
		stack_restore(&task->stack);
}

/* Code runs that nobody was seen to leave: a process that was made, or became another program. */
static void begin(uint64_t site, uint64_t to)
{
	stack_cut(1);
	running = context_of(0, false, current->id);
	stack_push(NODE_TASK, 0, current->id, 0, stack_node());
	event_write("task", site, to);
}

void flat_tasks_enter(uint64_t site, uint64_t to)
{
	uint64_t space = processor_user_space();
	uint32_t thread = flat_processor_thread();
	struct task *task = find(space, thread, to);
	bool same = task == current;
	size_t depth = task ? waiting(stack_of(task), to) : 0;

	if (depth) {
		resume(task);
		/* An inner one that does not wait was ended by a signal's handler that has returned. */
		stack_cut(depth - 1);
		running = shadow.frames[depth - 2].context;
		event_write("eret", site, to);
		return;
	}
	if (same) {
		/* A handler of a signal, above what that has interrupted. */
		running = context_of(0, false, current->id);
		if (!flat_tasks_handles())
			current->handler = shadow.depth + 1;
		stack_push(NODE_ENTER, site, to, 0, stack_node());
		/* It returns to where the kernel has code that asks it to go on with what was interrupted. */
		stack_push(NODE_CALL, to, to, flat_processor_link() & ~1u, stack_node());
		event_write("eret", site, to);
		return;
	}
	/* Another program has the table and the pointer of one that is gone. */
	if (task)
		g_ptr_array_remove(tasks, task);
	resume(add(++last_id, space, thread));
	begin(site, to);
}
