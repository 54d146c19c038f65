/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The encodings that t32.c knows. */
#ifndef WORLDWISE_MODEL_T32_TABLE_H
#define WORLDWISE_MODEL_T32_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "t32.h"

/*
 * An encoding: it is this one if the bits of `mask` have `value`. A wide instruction's first halfword is in the high
 * half. `operands` names registers in pairs of letters, a role and a field, then properties.
 *
 * Roles: w written, r read, b both, a address, x address that may be written back, s stored, c summand.
 * Fields of narrow instructions: 0 3 6 8 registers at that bit; h H registers of four bits (at 0 with bit 7, at 3);
 * of wide ones: N D T M registers at bits 16, 12, 8 and 0; of both: p l sp and lr.
 * Floating point: F f g (d, n and m of single or double registers).
 * Properties, behind a comma: 1 2 4 8 bytes of each register in memory; n no memory size; R list of registers;
 * V list of floating registers; L literal; I indexed; f reads the flags; z flags set by bit 20; Z flags set always;
 * S class T32_SHIFTED if a shift is encoded; W writes back by bit 21; w by bit 8; U writes back always; ? conditional.
 */
struct t32_encoding {
	uint32_t mask;
	uint32_t value;
	enum t32_class class;
	const char *operands;
};

extern const struct t32_encoding t32_narrow[];
extern const size_t t32_narrow_count;
extern const struct t32_encoding t32_wide[];
extern const size_t t32_wide_count;

#endif /* WORLDWISE_MODEL_T32_TABLE_H */
