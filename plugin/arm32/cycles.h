/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cycles of 32-bit code: what the models of cores say about the blocks that are followed. It is for this plugin what
 * ../aarch64/cycles.c is for the other one, of which it has the header; nothing is sampled.
 */
#ifndef WORLDWISE_ARM32_CYCLES_H
#define WORLDWISE_ARM32_CYCLES_H

#include <stdint.h>

#include "../aarch64/cycles.h"
#include "blocks.h"

/*
 * A block that is of no pass was left for `next`, `whole` or before its end: the models run through it, and nobody gets
 * its cycles.
 */
void cycles_pass_by(struct flat_block *block, uint64_t next, bool whole);

#endif /* WORLDWISE_ARM32_CYCLES_H */
