/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls as passes, for firmware that has no marks: from a function's first instruction until it has returned, with the
 * stack pointer that it was called with, in the exception that it was called in. Around them one pass goes from the
 * first instruction after reset to the end.
 */
#ifndef WORLDWISE_FLAT_CALLS_H
#define WORLDWISE_FLAT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* The calls of the function there are passes. False if there are too many functions. */
bool calls_add(uint64_t address);
/* A region begins at that address, or ends there: see ../worldwise/labels.h. False if there are too many. */
bool calls_add_label(const char *value, bool ends);
/* The machine ends when the function there is called, or after so many instructions; 0 for never. */
void calls_end_at(uint64_t function, uint64_t instructions);

/* Whether calls are passes at all; if not, nothing below is called. */
bool calls_are_passes(void);
/* Whether the pass around all has begun. */
bool calls_have_begun(void);
/* The first instruction after reset is at `pc`. */
void calls_begin(uint64_t pc);
/*
 * The block at `pc` is about to be executed in the handler of `exception`, 0 for none; all before is counted. Returns
 * whether the machine is to end.
 */
bool calls_look(uint64_t pc, unsigned int exception);
/* Another handler runs than before, or none. */
void calls_exception(unsigned int from, unsigned int to);
/* The machine ends: what was executed last is counted. */
void calls_finish(void);
/* How many passes have ended. */
uint32_t calls_count(void);

#endif /* WORLDWISE_FLAT_CALLS_H */
