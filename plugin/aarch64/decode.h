/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64 instructions, as far as they direct the flow of a program or are part of a region's mark. */
#ifndef WORLDWISE_DECODE_H
#define WORLDWISE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#define INSTRUCTION_BYTES 4u

enum flow {
	FLOW_PLAIN,         /* a direct branch or none: the next instruction is known, or one of two */
	FLOW_CALL,          /* BL */
	FLOW_CALL_REGISTER, /* BLR */
	FLOW_JUMP_REGISTER, /* BR */
	FLOW_RETURN,        /* RET */
	FLOW_TRAP,          /* SVC, HVC, SMC */
	FLOW_ERET,
};

/* The instruction whose four bytes, least significant first, are at `bytes`. */
uint32_t decode_word(const uint8_t *bytes);

/* Where the flow goes after the instruction `word` at `address`. `target`: of a direct branch, else 0. */
enum flow decode_flow(uint32_t word, uint64_t address, uint64_t *target);

/* MSR to DAIF, or to some bits of it: whether interrupts wait may be another thing behind it. */
bool decode_writes_masks(uint32_t word);

/* The hints at which regions begin and end: see guest/bench/region.h. */
bool decode_is_begin(uint32_t word);
bool decode_is_end(uint32_t word);

/*
 * Whether an instruction changes the stack pointer by `adds` bytes, or in a way that its word does not say (`unknown`).
 */
bool decode_moves_stack(uint32_t word, int32_t *adds, bool *unknown);

/* An mrs of the counter that the measured program reads: CNTVCT or PMCCNTR. */
bool decode_reads_counter(uint32_t word);
/* The x register an mrs writes: 0 to 31, the zero register. */
unsigned int decode_destination(uint32_t word);

#endif /* WORLDWISE_DECODE_H */
