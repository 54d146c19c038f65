/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions: what of a program is measured. A pass is one execution of a region; passes may stand in one another.
 *
 * A region begins and ends at marks of the measured program (guest/bench/region.h): `hint #96; isb; mrs Xt, counter`
 * and `isb; mrs Xt, counter; hint #97`. The instructions from the first mrs (inclusive) to the second (exclusive) are
 * the region's: under icount as many as the difference of the two readings, which are recorded beside the count.
 *
 * Besides, the calls of some functions are regions (call=ADDRESS): of a program that has no marks, and runs between two. And labels are (labels.h), in that program and in the TA.
 *
 * A call has all that is executed until it returns, whoever executes it; calls of several threads may overlap.
 */
#ifndef WORLDWISE_REGIONS_H
#define WORLDWISE_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "counts.h"
#include "heap.h"
#include "labels.h"
#include "stack.h"

/* Whether a pass is open. */
static inline bool regions_are_open(void)
{
	return scoreboard->active;
}

/* Where the counter's value that an mrs has read is wanted: the address behind the mrs; 0 if none is. */
extern uint64_t reading_at;
/* The rest of regions_before(). */
void regions_take_reading(void);

/* A block is about to be executed: takes the counter's value that the block before has read. Call it first. */
static inline void regions_before(const struct block *to)
{
	if (reading_at && to->pc == reading_at)
		regions_take_reading();
}

/* The rest of regions_at(). */
void regions_mark(const struct block *to);

/* The same block, once everything before it is counted: begins or ends a pass, if it is part of a mark. */
static inline void regions_at(const struct block *to)
{
	if (to->begins_at || to->reads)
		regions_mark(to);
}

/* The rest of regions_calls_at(). */
void regions_call(const struct block *to);
void regions_label(const struct block *to);
void regions_look_for_return(struct block *to);
void regions_enter(void);
void regions_ta_calls(const struct block *to);
void regions_ta_called(const struct block *to);
void regions_allocator(const struct block *to);
void regions_allocated(const struct block *to);

/* How many passes that are calls are open. */
extern size_t open_calls;
/* And of these, calls of other TAs. */
extern size_t ta_calls_open;

/* The same block, behind regions_at(): ends the calls that return to it, and begins the one that it is the first of. */
static inline void regions_calls_at(struct block *to)
{
	/* What a call has asked for as its last act it has taken. */
	if (heap_open && heap_awaits(to->pc))
		regions_allocated(to);
	if (open_calls)
		regions_look_for_return(to);
	if (ta_calls_open && running->secure)
		regions_ta_called(to);
	if (to->enters)
		regions_enter();
	if (to->call)
		regions_call(to);
	if (to->heap)
		regions_allocator(to);
	if (to->label || (labels_are_in_ta() && running->secure && !running->el))
		regions_label(to);
	if (to->ta_call)
		regions_ta_calls(to);
}

/* The machine ended: gives up if a pass is open. */
void regions_finish(void);

#endif /* WORLDWISE_REGIONS_H */
