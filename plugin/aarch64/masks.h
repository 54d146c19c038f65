/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Masks: the stretches of a pass in which the normal world could not take an interrupt, in instructions. An instruction
 * is in such a stretch if an interrupt that is there before it is executed waits until behind it:
 *
 * - at EL3 always,
 * - in the secure world while PSTATE.F is set: with a GICv3 the normal world's interrupts are FIQs there,
 * - in the normal world while PSTATE.I is set.
 *
 * What models of cores say of the longest is kept with them.
 *
 * Only what can change that is looked at: MSR to DAIF, ERET and exceptions, which set both (Arm ARM, D1.3).
 */
#ifndef WORLDWISE_MASKS_H
#define WORLDWISE_MASKS_H

#include <stddef.h>
#include <stdint.h>

#include "blocks.h"

/* An outermost pass begins: what came before is forgotten, and the masks are those of the processor. */
void masks_forget(void);

/* A pass begins at `pc`. */
void masks_begin(uint64_t pc);
/* The pass at that index among those that are open ended; what it had can be written until another one ends. */
void masks_end(size_t at);

struct node;

/*
 * The instruction at `site`, on the stack of `last`, may have changed the masks: from now on they are those in `state`,
 * a processor state. What runs now begins at `pc`.
 */
void masks_changed(struct node *last, uint64_t site, uint64_t state, uint64_t pc);
/* An exception arrived at the vector `pc`. */
void masks_exception(uint64_t pc);

struct json_object; /* see trace.h */

/* Writes what models of cores say of the stretches of the pass of that id, which ended last; nothing without cores. */
void masks_write_spans(uint32_t pass);
/* Writes the nodes that masks_write() names. */
void masks_write_nodes(void);
/* Appends what the pass that ended last had to its record. */
void masks_write(struct json_object *record);

#endif /* WORLDWISE_MASKS_H */
