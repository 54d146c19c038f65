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

/*
 * There was a return to `to`. If it is cpu_switch_to's, which returns in another task than it was called in, puts that
 * task's stack in the place of the shadow stack and returns true. A task that was not seen yet begins with the callers
 * that the stack in memory names.
 */
bool tasks_return(uint64_t to);

#endif /* WORLDWISE_TASKS_H */
