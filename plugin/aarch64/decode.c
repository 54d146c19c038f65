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

#define SP 31u
#define BYTES_OF_W 2u /* as a power of two */

static unsigned int source_of(uint32_t word)
{
	return word >> 5 & 31;
}

/* Loads and stores that write their base register back. */
static bool is_writeback(uint32_t word, int32_t *adds)
{
	/* A register: LDR, STR and their like, of any size. */
	if ((word & 0x3b200400u) == 0x38000400u) {
		*adds = (int32_t)signed_field(word, 12, 9);
		return true;
	}
	/* A pair: its field counts registers. */
	if ((word & 0x3a800000u) == 0x28800000u) {
		unsigned int size = word >> 30;
		bool vector = word >> 26 & 1;

		*adds = (int32_t)signed_field(word, 15, 7) * (1 << (BYTES_OF_W + (vector ? size : size >> 1)));
		return true;
	}
	return false;
}

/* Arm ARM, C4.1: the instructions whose register 31 is the stack pointer. */
bool decode_moves_stack(uint32_t word, int32_t *adds, bool *unknown)
{
	bool of_sp = source_of(word) == SP;
	bool to_sp = (word & 31) == SP;

	*adds = 0;
	*unknown = false;
	/* ADD and SUB of an immediate number. */
	if ((word & 0xbf800000u) == 0x91000000u) {
		int32_t number = (int32_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

		*adds = word >> 30 & 1 ? -number : number;
		*unknown = !of_sp;
		return to_sp;
	}
	/* ADD and SUB of an extended register; AND, ORR and EOR of an immediate number. */
	if ((word & 0xbfe00000u) == 0x8b200000u || ((word & 0x9f800000u) == 0x92000000u && word >> 29 != 7)) {
		*unknown = true;
		return to_sp;
	}
	/* Structures of vectors, which write back in ways that are rare. */
	if ((word & 0xbe800000u) == 0x0c800000u) {
		*unknown = true;
		return of_sp;
	}
	return of_sp && is_writeback(word, adds);
}

/* Arm ARM, C6.2: MSR DAIFSet and DAIFClr, of any bits; MSR DAIF. */
bool decode_writes_masks(uint32_t word)
{
	return (word & 0xfffff0dfu) == 0xd50340dfu || (word & 0xffffffe0u) == 0xd51b4220u;
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
