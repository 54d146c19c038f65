/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack in memory as a witness: samples of it, beside the shadow stack of the same moment. */
#ifndef WORLDWISE_WITNESS_H
#define WORLDWISE_WITNESS_H

#include <stdint.h>

#include "blocks.h"

/* An outermost pass of that id begins: the first sample is due as many instructions later as the arguments say. */
void witness_begin(uint32_t pass);

/* Writes a sample, before the block `to` is executed, if one is due. */
void witness_look(const struct block *to);

#endif /* WORLDWISE_WITNESS_H */
