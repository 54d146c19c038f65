/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of A32 and T32, as far as they direct the flow of a program or move its stack pointer. */
#ifndef WORLDWISE_ARM32_DECODE_H
#define WORLDWISE_ARM32_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "../aarch64/decode.h"
#include "../model/model.h"

/* One instruction. */
struct direction {
	enum flow flow;
	uint64_t target; /* of a direct branch, else 0 */
	/* What it adds to the stack pointer; `moves_stack`: it changes it in another way, or only under a condition. */
	int32_t stack;
	bool moves_stack;
	char kind; /* what it is counted as: see ../aarch64/kinds.h */
	uint8_t bytes;
};

/* The instruction at `bytes`, of which four can be read; `if_then`: in the block of an IT. */
struct direction direction_of(enum instruction_set set, const uint8_t *bytes, uint64_t address, bool if_then);

#endif /* WORLDWISE_ARM32_DECODE_H */
