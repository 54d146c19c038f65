/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of A32 and T32: what worldwise's trees and counts need of a block, and what its instructions are. */
#ifndef WORLDWISE_ARM32_BLOCKS_H
#define WORLDWISE_ARM32_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qemu-plugin.h>

#include "../aarch64/blocks.h"
#include "../model/model.h"

struct slot;

struct flat_block {
	struct block block; /* the first member: a pointer to it is one to the whole */
	enum instruction_set set;
	struct slot *slot; /* where it was counted last: nearly always, where it is counted next */
	bool watched;      /* what calls_watch() says of its begin, so that no table is asked each time */
	bool decoded;      /* the set is known, and what depends on it is filled in */
	uint32_t *offsets; /* of each instruction, and of what stands behind the last */
	char *kinds;       /* of each instruction: see ../aarch64/kinds.h */
	/* How far below where it is at the block's begin the stack pointer gets, and where it is at the end. */
	int32_t deepest;
	int32_t stack;
	bool moves_stack; /* how far is not known: the processor has to say */
	bool quiet; /* its last instruction goes to its target or to what stands behind, and none moves the stack */
};

/* The block of what QEMU has translated; its instruction set may not be known yet. */
struct flat_block *flat_block_of(const struct qemu_plugin_tb *translation);

/* Fills in what depends on the instruction set. */
void flat_block_decode(struct flat_block *block, enum instruction_set set);

/* The first `instructions` of a decoded block that was left early. */
struct flat_block *flat_block_part(const struct flat_block *block, uint32_t instructions);

/* How many of the block's instructions stand before that address; all of them if it is not in the block. */
uint32_t flat_block_before(const struct flat_block *block, uint64_t address);

#endif /* WORLDWISE_ARM32_BLOCKS_H */
