/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of a Linux on Armv7-A: each thread of each has a shadow stack of its own. A thread is known by the
 * translation table and the thread pointer with which the kernel leaves for it; the kernel's own tasks are not told apart.
 */
#ifndef WORLDWISE_ARM32_TASKS_H
#define WORLDWISE_ARM32_TASKS_H

#include <stdbool.h>
#include <stdint.h>

/* A region begins in the program that runs: forgets all others. */
void flat_tasks_begin(void);

/* The program that runs makes a system call, whose number is in r7. */
void flat_tasks_call(void);

/* The kernel leaves to `to`: what runs there goes on, on its own stack, or begins. */
void flat_tasks_enter(uint64_t site, uint64_t to);

/* The thread that runs, or that the kernel runs for: 0 for the one in which the region began. */
uint32_t flat_tasks_current(void);
/* Its translation table. */
uint64_t flat_tasks_space(void);
/* The system call that it is in, or was in last. */
uint32_t flat_tasks_called(void);

/* Whether the task that runs, whose stack is the shadow's, runs a handler of a signal. */
bool flat_tasks_handles(void);

#endif /* WORLDWISE_ARM32_TASKS_H */
