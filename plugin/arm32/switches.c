/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "switches.h"

#include <glib.h>

#include "../aarch64/stack.h"
#include "../aarch64/trace.h"
#include "processor.h"

/* The most that an exception pushes and pops. */
#define MOST_PUSHED 0x70u
/* Strangers' firmware decides how many there are, and each takes memory here. */
#define MAX_TASKS 64u

struct task {
	uint32_t id;
	uint32_t process_stack; /* as its interruption has left it */
	struct stack stack;
};

static struct task *waiting[MAX_TASKS];
static unsigned int count;
static uint32_t current, last_id;
static uint32_t process_stack; /* as the handler that runs began */

void switches_enter(void)
{
	process_stack = flat_processor_process_stack();
}

/* Leaves the list without the task that waits where the process stack is now; NULL if none does. */
static struct task *take(uint32_t now)
{
	for (unsigned int i = 0; i < count; i++) {
		struct task *task = waiting[i];

		if (now - task->process_stack <= MOST_PUSHED) {
			waiting[i] = waiting[--count];
			return task;
		}
	}
	return NULL;
}

bool switches_leave(size_t depth, uint64_t to)
{
	uint32_t now = flat_processor_process_stack();
	struct task *left, *next;

	if ((now > process_stack ? now - process_stack : process_stack - now) <= MOST_PUSHED)
		return false;
	next = take(now);
	if (count == MAX_TASKS) {
		trace_give_up("the firmware has more tasks than this plugin can follow", to);
		return false;
	}
	left = g_new0(struct task, 1);
	left->id = current;
	left->process_stack = process_stack;
	stack_copy(&left->stack, 0, depth);
	waiting[count++] = left;
	if (next) {
		current = next->id;
		stack_restore(&next->stack);
		running = shadow.frames[shadow.depth - 1].context;
		g_free(next);
	} else {
		current = ++last_id;
		stack_cut(1);
		running = context_of(0, false, current);
		stack_push(NODE_TASK, 0, current, 0, stack_node());
	}
	return true;
}

uint32_t switches_task(void)
{
	return current;
}
