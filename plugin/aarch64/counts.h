/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts: how many instructions were executed, and of which block on which node of the call tree. */
#ifndef WORLDWISE_COUNTS_H
#define WORLDWISE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include <qemu-plugin.h>

#include "blocks.h"
#include "tables.h"
#include "tree.h"

/* What translated code reads and writes by itself. */
struct scoreboard {
	uint64_t active; /* 1 inside a region */
	uint64_t open;   /* not 0 from the begin of a block until its last instruction; in mode count, the block */
	uint64_t count;  /* mode count: instructions of whole blocks */
};

/* Of the one processor; NULL until counts_attach(). */
extern struct scoreboard *scoreboard;

/* The same, as QEMU wants them named when it makes code that uses them. */
extern qemu_plugin_u64 scoreboard_active;
extern qemu_plugin_u64 scoreboard_open;
extern qemu_plugin_u64 scoreboard_count;

/* Instructions since the start. */
struct totals {
	uint64_t counted; /* mode stack: all of regions; mode count: what to add to the scoreboard's, modulo 2^64 */
	uint64_t lost;    /* of them, on a stack that was lost */
};

extern struct totals totals;

void counts_start(void);
/* The processor is there: finds its scoreboard. */
void counts_attach(unsigned int processor);

/* Instructions until now, in either mode. */
uint64_t counts_now(void);

struct spent; /* see ../model/model.h */

/* How often a block was executed on a node. */
struct slot {
	struct node *node;
	struct block *block;
	uint64_t times;      /* since it was written last */
	uint64_t skipped;    /* of these, times that sampling left out */
	struct spent *spent; /* in that time, for each core; NULL without cores */
	uint32_t span;       /* the last span that it was executed in, and its row there: see cycles.h */
	uint32_t span_row;
};

/* Direct-mapped, in front of the table of slots: nearly every block was executed on its node before. */
#define CACHED_SLOTS (1u << 17)
extern struct slot *slot_cache[CACHED_SLOTS];

/* The slot of a block on a node, made if there was none. */
struct slot *slot_of(struct node *node, struct block *block);
/* Notes that a slot has a count that is not written yet. */
void slot_must_be_written(struct slot *slot);

/* Mode stack: counts a block that was executed on a node. Inline, because every block passes here. Returns its slot. */
static inline struct slot *counts_add(struct node *node, struct block *block, bool lost)
{
	struct slot **cached = &slot_cache[hash_pair((uintptr_t)node, (uintptr_t)block) % CACHED_SLOTS];
	struct slot *slot = *cached;

	if (!slot || slot->node != node || slot->block != block) {
		slot = slot_of(node, block);
		*cached = slot;
	}
	if (!slot->times++)
		slot_must_be_written(slot);
	totals.counted += block->instructions;
	if (lost)
		totals.lost += block->instructions;
	return slot;
}

/* Mode stack: a block that was executed went elsewhere than to what stands behind it. */
void counts_taken(struct block *block);

/* Writes what was added since the last time as the own of the pass of that id, if there is something. */
void counts_flush(uint32_t pass);

#endif /* WORLDWISE_COUNTS_H */
