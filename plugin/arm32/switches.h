/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of firmware on an M core: each has a process stack, and a shadow stack while it waits. A handler that goes
 * back to thread mode with the process stack far from where it was has changed the task: the one that waits there goes
 * on, or one that nobody has seen begins.
 */
#ifndef WORLDWISE_ARM32_SWITCHES_H
#define WORLDWISE_ARM32_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handler has interrupted thread mode. */
void switches_enter(void);
/*
 * A handler goes back to thread mode, at `to`; the task that was interrupted has `depth` frames. If another one goes on,
 * puts its frames in the place of all, and returns true.
 */
bool switches_leave(size_t depth, uint64_t to);
/* The task that runs, or that was interrupted: 0 for the first. */
uint32_t switches_task(void);

#endif /* WORLDWISE_ARM32_SWITCHES_H */
