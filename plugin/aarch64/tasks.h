/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux's tasks: each has a stack of its own, which goes on where it stopped. */
#ifndef WORLDWISE_TASKS_H
#define WORLDWISE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

void tasks_start(void);

/* A region begins: forgets all tasks. The region's own is known by its address once it is left. */
void tasks_forget(void);

/* cpu_switch_to begins: reads from its arguments which task stops and which is next. */
void tasks_switch_begins(void);

/* cpu_switch_to was called and has not returned: the task that goes on; else 0. */
extern uint64_t next_task;
static inline bool tasks_are_switched(void)
{
	return next_task;
}

/*
 * cpu_switch_to, which returns in another task than it was called in, returned to `to`: puts that task's stack in the
 * place of the shadow stack. A task that was not seen yet begins with the callers that the stack in memory names.
 */
void tasks_return(uint64_t to);

#endif /* WORLDWISE_TASKS_H */
