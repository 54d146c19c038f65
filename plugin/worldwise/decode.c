/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decode.h"

#define HINT_BEGIN 0xd5032c1fu /* hint #96 */
#define HINT_END 0xd5032c3fu   /* hint #97 */
#define MRS_MASK 0xffffffe0u
#define MRS_CNTVCT 0xd53be040u
#define MRS_PMCCNTR 0xd53b9d00u

uint32_t decode_word(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static int64_t signed_field(uint32_t word, unsigned int low, unsigned int bits)
{
	int64_t field = (int64_t)(word >> low & ((1u << bits) - 1));

	return field & (int64_t)1 << (bits - 1) ? field - ((int64_t)1 << bits) : field;
}

static uint64_t branch_target(uint32_t word, uint64_t address, unsigned int low, unsigned int bits)
{
	return address + (uint64_t)(INSTRUCTION_BYTES * signed_field(word, low, bits));
}

/* Arm ARM, C4.1: branches, exception generation and system instructions. */
enum flow decode_flow(uint32_t word, uint64_t address, uint64_t *target)
{
	/* By register, with or without pointer authentication: opc in bits 21 to 23. */
	static const enum flow by_register[] = { FLOW_JUMP_REGISTER, FLOW_CALL_REGISTER, FLOW_RETURN, FLOW_PLAIN,
						 FLOW_ERET,          FLOW_PLAIN,         FLOW_PLAIN,  FLOW_PLAIN };

	*target = 0;
	if ((word & 0x7c000000u) == 0x14000000u) { /* B, BL */
		*target = branch_target(word, address, 0, 26);
		return word >> 31 ? FLOW_CALL : FLOW_PLAIN;
	}
	if ((word & 0xff000000u) == 0x54000000u || (word & 0x7e000000u) == 0x34000000u) /* B.cond, CBZ, CBNZ */
		*target = branch_target(word, address, 5, 19);
	else if ((word & 0x7e000000u) == 0x36000000u) /* TBZ, TBNZ */
		*target = branch_target(word, address, 5, 14);
	else if ((word & 0xfe000000u) == 0xd6000000u)
		return by_register[word >> 21 & 7];
	else if ((word & 0xffe0001cu) == 0xd4000000u && (word & 3))
		return FLOW_TRAP; /* SVC, HVC, SMC */
	return FLOW_PLAIN;
}

bool decode_is_begin(uint32_t word)
{
	return word == HINT_BEGIN;
}

bool decode_is_end(uint32_t word)
{
	return word == HINT_END;
}

bool decode_reads_counter(uint32_t word)
{
	return (word & MRS_MASK) == MRS_CNTVCT || (word & MRS_MASK) == MRS_PMCCNTR;
}

unsigned int decode_destination(uint32_t word)
{
	return word & 31;
}
