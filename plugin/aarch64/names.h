/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that a program gives its threads: pthread_setname_np, prctl and /proc lead to Linux's __set_task_comm. A thread
 * has none until it is given one here; what it inherits from the one that made it is not its own.
 */
#ifndef WORLDWISE_NAMES_H
#define WORLDWISE_NAMES_H

#include <stdint.h>

/* With the zero byte at its end, as Linux has it. */
#define NAME_BYTES 16

void names_start(void);

/* __set_task_comm begins: reads from its arguments which task gets which name. */
void names_given(void);

/* A new task runs for the first time at that address: it has no name yet. */
void names_forget(uint64_t task);

/* The name of a task, of printable ASCII with a ? for what is not; empty if it has none. */
const char *names_of(uint64_t task);

#endif /* WORLDWISE_NAMES_H */
