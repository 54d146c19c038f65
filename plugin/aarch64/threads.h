/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OP-TEE's threads: each stops in one visit of the secure world and goes on in another. */
#ifndef WORLDWISE_THREADS_H
#define WORLDWISE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

void threads_start(void);

/* A region begins: forgets all threads. */
void threads_forget(void);

/* thread_state_suspend begins: keeps the thread's part of the shadow stack, for when it goes on. */
void threads_suspend(void);

/* thread_resume begins: reads from its argument which thread goes on. */
void threads_resume_begins(void);

/*
 * There was an ERET in the secure world to `to`. If it is thread_resume's and the thread is known, puts its frames above
 * those of the world's entry of this time and returns true. Sets `running` to the context of the last frame it puts.
 */
bool threads_resume(uint64_t to);

#endif /* WORLDWISE_THREADS_H */
