/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls as passes, for firmware and programs of Linux that have no marks: from a function's first instruction until it
 * has returned, with the stack pointer that it was called with, in the exception or thread that it was called in. Around
 * them one pass goes from the first instruction after reset to the end; of a program, through its life (life.h).
 */
#ifndef WORLDWISE_ARM32_CALLS_H
#define WORLDWISE_ARM32_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "../aarch64/heap.h"

/* The calls of the function there are passes. False if there are too many functions. */
bool calls_add(uint64_t address);
/* A region begins at that address, or ends there: see ../aarch64/labels.h. False if there are too many. */
bool calls_add_label(const char *value, bool ends);
/* The machine ends when the function there is called, or after so many instructions; 0 for never. */
void calls_end_at(uint64_t function, uint64_t instructions);

/* Whether calls are passes at all; if not, nothing below is called. */
bool calls_are_passes(void);
/* They are told apart by threads, not by exceptions: it is a program of Linux. */
void calls_of_threads(void);
/* Whether the pass around all has begun. */
bool calls_have_begun(void);
/* The first instruction after reset is at `pc`. */
void calls_begin(uint64_t pc);
/* Of a program: the counter's value as the pass around all began; this pass is left; and the counter's value then. */
void calls_reading(uint64_t value);
void calls_leave(void);
void calls_end(uint64_t value);
/* The program ends, or one thread of it: no call of it returns any more. */
void calls_exit(void);
void calls_exit_of(unsigned int thread);
/* Whether a call, a labelled region or a function of the allocator begins at `pc`, or ends by a label there. */
bool calls_watch(uint64_t pc);
/*
 * The block at `pc` is about to be executed in the handler of `exception`, 0 for none, or in that thread; all before is
 * counted. `watched` is what calls_watch() said of it. Returns whether the machine is to end.
 */
bool calls_look(uint64_t pc, unsigned int exception, bool watched);
/* After so many instructions the machine ends. */
extern uint64_t calls_limit;
/* Has the bit of CALLS_BIT() of each address that an open call returns to. */
extern uint64_t calls_returns;
#define CALLS_BIT(pc) (UINT64_C(1) << ((pc) >> 1 & 63))
/* Whether no open call, nor one of the allocator, returns to `pc`; it may say no too often. */
static inline bool calls_look_away(uint64_t pc)
{
	return !((calls_returns | heap_returns) & CALLS_BIT(pc));
}

/* The machine ends: what was executed last is counted. */
void calls_finish(void);
/* How many passes have ended. */
uint32_t calls_count(void);

/* The thread of the innermost one that is open. */
unsigned int calls_thread(void);

#endif /* WORLDWISE_ARM32_CALLS_H */
