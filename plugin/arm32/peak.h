/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack pointer of the program that is followed, from its instructions: how deep the stack gets in a pass, and on
 * which way. Handlers of interrupts have a stack of their own and are left out.
 */
#ifndef WORLDWISE_ARM32_PEAK_H
#define WORLDWISE_ARM32_PEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks.h"

struct json_object;

/* A pass begins, with the stack pointer as it is when the next block begins. */
void peak_begin(void);
/*
 * One begins within another one, at most as deep as PEAK_NESTED, with that stack pointer, and the innermost ends. In a
 * handler (`apart`) nobody looks how deep it gets.
 */
#define PEAK_NESTED 64u
void peak_enter(uint32_t stack_pointer, bool apart);
void peak_leave(void);
/* Another task runs on a stack of its own: of the passes that are open nobody knows how deep theirs gets. */
void peak_forget(void);
/* The program may have more than one stack: if the pointer is elsewhere than the instructions put it, peak_forget(). */
extern bool peak_may_jump;
/* Writes the node that peak_write() names. */
void peak_write_node(void);

/* The processor's stack pointer is to be asked for. */
extern bool peak_is_unknown;
/* Blocks that begin before it is asked though what was added up says it; then the two must be equal. */
#define PEAK_CHECKED_EVERY 1024u
extern uint32_t peak_blocks;
/* The rest of peak_look(). */
void peak_ask(uint64_t pc);

/* Whether peak_look() asks the processor at the next block. */
static inline bool peak_asks_next(void)
{
	return peak_is_unknown || peak_blocks + 1 == PEAK_CHECKED_EVERY;
}

/* A block of the program begins at `pc`, and the processor can be asked. */
static inline void peak_look(uint64_t pc)
{
	if (peak_is_unknown || ++peak_blocks == PEAK_CHECKED_EVERY)
		peak_ask(pc);
}

/* A block was executed on the node that runs now. */
void peak_add(const struct flat_block *block);
/* A store to that address. Below the stack there is no memory: see guest/mcu/start.c. */
void peak_store(uint32_t address);

/* Adds to the record of a pass how deep the stack was, on which node, in which block, and how deep it was as each frame
 * up to there was pushed; nothing if it is not known. */
void peak_write(struct json_object *record);

#endif /* WORLDWISE_ARM32_PEAK_H */
