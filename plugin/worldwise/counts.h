/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts: how many instructions were executed, and of which block on which node of the call tree. */
#ifndef WORLDWISE_COUNTS_H
#define WORLDWISE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include <qemu-plugin.h>

#include "blocks.h"
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

/* Mode stack: counts a block that was executed on a node. */
void counts_add(struct node *node, struct block *block, bool lost);

/* Writes what was added since the last time as the own of the pass of that id, if there is something. */
void counts_flush(uint32_t pass);

#endif /* WORLDWISE_COUNTS_H */
