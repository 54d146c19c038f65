/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How deep the stack gets in each pass that is a call, and of a TA also how much of its heap is taken. Stack pointers are
 * asked of the processor: at the first instruction of a frame, before a block that moves the stack, and behind one whose
 * code does not say how far it does.
 *
 * The heap of a TA begins as zeros and OP-TEE's allocator takes the end of a free piece first. So the lowest address that
 * is written, behind the head of the free piece at its start, is how far it was ever taken.
 */
#ifndef WORLDWISE_DEPTH_H
#define WORLDWISE_DEPTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "trace.h"

/* An outermost pass begins: forgets what was before. */
void depth_forget(void);
/* A pass begins; if it is a call, depth_of_call() follows, with the stack pointer that its function is entered with. */
void depth_begin(void);
void depth_of_call(uint64_t sp);
/*
 * The pass at that index among those that are open ends. The one around it, of the number `around` counted from 1, was at
 * least as deep, if it goes on; `on_stack` says whether what runs now is on the stack of both.
 */
void depth_end(size_t at, size_t around, bool on_stack);
/* Several threads are in calls: of a TA nobody can say for which of these it runs. */
void depth_share(void);
/* Writes the nodes that depth_write() names; and adds to the record of the pass that ended last what is known of it. */
void depth_write_nodes(void);
void depth_write(struct json_object *record);

/* Whether the TA that is watched was entered, and how far above its link address it is. */
bool depth_knows_ta(uint64_t *bias);

/* A block is about to be executed, inside a pass; what it calls and returns to is done. */
void depth_look(struct block *to);

#endif /* WORLDWISE_DEPTH_H */
