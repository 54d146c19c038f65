/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A64: data processing and branches (Arm ARM, C4.1.86 to C4.1.93). */
#include "build.h"

static void add_immediate(struct operation *operation, uint32_t word)
{
	bool flags = bit(word, 29);

	operation->class = flags ? CLASS_alu_flags : CLASS_alu;
	add_source(operation, field(word, 5, 5), ROLE_VALUE); /* 31 is the stack pointer here */
	if (flags) {
		writes(operation, field(word, 0, 5));
		add_result(operation, REGISTER_FLAGS);
	} else {
		add_result(operation, field(word, 0, 5));
	}
}

static void logic_immediate(struct operation *operation, uint32_t word)
{
	bool flags = field(word, 29, 2) == 3;

	operation->class = flags ? CLASS_logic_flags : CLASS_logic;
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	if (flags) {
		writes(operation, field(word, 0, 5));
		add_result(operation, REGISTER_FLAGS);
	} else {
		add_result(operation, field(word, 0, 5));
	}
}

void a64_immediate(struct operation *operation, uint32_t word)
{
	unsigned int rd = field(word, 0, 5);
	unsigned int rn = field(word, 5, 5);

	switch (field(word, 23, 3)) {
	case 0:
	case 1:
		operation->class = CLASS_address;
		break;
	case 2:
		add_immediate(operation, word);
		return;
	case 4:
		logic_immediate(operation, word);
		return;
	case 5:
		operation->class = CLASS_move;
		if (field(word, 29, 2) == 3) /* MOVK */
			reads(operation, rd, ROLE_VALUE);
		break;
	case 6:
		operation->class = field(word, 29, 2) == 1 ? CLASS_insert : CLASS_bitfield;
		reads(operation, rn, ROLE_VALUE);
		if (operation->class == CLASS_insert)
			reads(operation, rd, ROLE_VALUE);
		break;
	case 7:
		operation->class = rn == field(word, 16, 5) ? CLASS_rotate : CLASS_extract;
		reads(operation, rn, ROLE_VALUE);
		reads(operation, field(word, 16, 5), ROLE_VALUE);
		break;
	default:
		return;
	}
	writes(operation, rd);
}

static void two_sources(struct operation *operation, uint32_t word)
{
	unsigned int opcode = field(word, 10, 6);

	if (opcode == 2 || opcode == 3)
		operation->class = bit(word, 31) ? CLASS_div64 : CLASS_div32;
	else if (opcode >= 8 && opcode <= 11)
		operation->class = CLASS_shift;
	else if (opcode >= 16 && opcode <= 23)
		operation->class = CLASS_crc;
	else if (opcode == 12)
		operation->class = CLASS_pointer_code;
	else
		return;
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	reads(operation, field(word, 16, 5), ROLE_VALUE);
	writes(operation, field(word, 0, 5));
}

static void one_source(struct operation *operation, uint32_t word)
{
	if (field(word, 16, 5) == 1)
		operation->class = CLASS_pointer_code;
	else
		operation->class = field(word, 10, 6) >= 4 ? CLASS_count : CLASS_reverse;
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	writes(operation, field(word, 0, 5));
}

static void logic_shifted(struct operation *operation, uint32_t word)
{
	bool flags = field(word, 29, 2) == 3;
	bool shifted = field(word, 10, 6);

	operation->class = flags ? CLASS_logic_flags : shifted ? CLASS_logic_shift : CLASS_logic;
	if (field(word, 5, 5) == 31 && !shifted && !flags && field(word, 29, 2) == 1 && !bit(word, 21))
		operation->class = CLASS_move; /* ORR with the zero register */
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	reads(operation, field(word, 16, 5), shifted ? ROLE_SHIFTED : ROLE_VALUE);
	writes(operation, field(word, 0, 5));
	if (flags)
		add_result(operation, REGISTER_FLAGS);
}

static void add_shifted(struct operation *operation, uint32_t word)
{
	bool extended = bit(word, 21);
	bool flags = bit(word, 29);
	unsigned int amount = field(word, 10, 6);
	bool shifted = extended || amount;

	if (!shifted)
		operation->class = flags ? CLASS_alu_flags : CLASS_alu;
	else if (!extended && !flags && !field(word, 22, 2) && amount <= 4)
		operation->class = CLASS_alu_shift_small; /* LSL of at most 4: cheap on some cores */
	else
		operation->class = CLASS_alu_shift;
	if (extended)
		add_source(operation, field(word, 5, 5), ROLE_VALUE);
	else
		reads(operation, field(word, 5, 5), ROLE_VALUE);
	reads(operation, field(word, 16, 5), shifted ? ROLE_SHIFTED : ROLE_VALUE);
	if (extended && !flags)
		add_result(operation, field(word, 0, 5));
	else
		writes(operation, field(word, 0, 5));
	if (flags)
		add_result(operation, REGISTER_FLAGS);
}

static void multiply(struct operation *operation, uint32_t word)
{
	unsigned int kind = field(word, 21, 3);

	if (kind == 0)
		operation->class = bit(word, 31) ? CLASS_mul64 : CLASS_mul32;
	else if (kind == 1 || kind == 5)
		operation->class = CLASS_mull;
	else if (kind == 2 || kind == 6)
		operation->class = CLASS_mulh;
	else
		return;
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	reads(operation, field(word, 16, 5), ROLE_VALUE);
	if (operation->class != CLASS_mulh) {
		operation->wide = field(word, 10, 5) != 31; /* it adds to a sum */
		reads(operation, field(word, 10, 5), ROLE_ACCUMULATE);
	}
	writes(operation, field(word, 0, 5));
}

static void with_carry(struct operation *operation, uint32_t word)
{
	if (field(word, 10, 6)) /* RMIF, SETF */
		return;
	operation->class = CLASS_alu_carry;
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	reads(operation, field(word, 16, 5), ROLE_VALUE);
	add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
	writes(operation, field(word, 0, 5));
	if (bit(word, 29))
		add_result(operation, REGISTER_FLAGS);
}

static void conditional(struct operation *operation, uint32_t word)
{
	bool compare = field(word, 21, 3) == 2;

	operation->class = compare ? CLASS_compare_if : CLASS_select;
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	if (!compare || !bit(word, 11))
		reads(operation, field(word, 16, 5), ROLE_VALUE);
	add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
	if (compare)
		add_result(operation, REGISTER_FLAGS);
	else
		writes(operation, field(word, 0, 5));
}

void a64_register(struct operation *operation, uint32_t word)
{
	if (!bit(word, 28)) {
		if (bit(word, 24))
			add_shifted(operation, word);
		else
			logic_shifted(operation, word);
		return;
	}
	if (bit(word, 24)) {
		multiply(operation, word);
		return;
	}
	switch (field(word, 21, 3)) {
	case 0:
		with_carry(operation, word);
		break;
	case 2:
	case 4:
		conditional(operation, word);
		break;
	case 6:
		if (bit(word, 30))
			one_source(operation, word);
		else
			two_sources(operation, word);
		break;
	default:
		break;
	}
}

static void branch_by_register(struct operation *operation, uint32_t word)
{
	unsigned int kind = field(word, 21, 2);

	if (field(word, 21, 4) == 4) { /* ERET */
		operation->class = CLASS_trap;
		return;
	}
	reads(operation, field(word, 5, 5), ROLE_VALUE);
	if (kind == 2) {
		operation->class = CLASS_ret;
		operation->branch = BRANCH_RETURN;
	} else if (kind == 1) {
		operation->class = CLASS_call;
		operation->branch = BRANCH_CALL_REGISTER;
		add_result(operation, 30);
	} else {
		operation->class = CLASS_jump;
		operation->branch = BRANCH_JUMP;
	}
}

static void system_instruction(struct operation *operation, uint32_t word)
{
	if ((word & 0xfffff01fu) == 0xd503201fu) { /* HINT; of these PACIASP and its like */
		operation->class = CLASS_hint;
		return;
	}
	if ((word & 0xfffff000u) == 0xd5033000u) { /* DMB, DSB, ISB, CLREX */
		operation->class = CLASS_barrier;
		return;
	}
	operation->class = CLASS_system;
	if (bit(word, 21))
		writes(operation, field(word, 0, 5));
	else
		reads(operation, field(word, 0, 5), ROLE_VALUE);
}

void a64_branch(struct operation *operation, uint32_t word)
{
	if ((word & 0x7c000000u) == 0x14000000u) {
		operation->class = bit(word, 31) ? CLASS_call : CLASS_branch;
		operation->branch = bit(word, 31) ? BRANCH_CALL : BRANCH_DIRECT;
		if (bit(word, 31))
			add_result(operation, 30);
	} else if ((word & 0x7c000000u) == 0x34000000u) {
		operation->class = CLASS_branch_zero;
		operation->branch = BRANCH_IF;
		reads(operation, field(word, 0, 5), ROLE_VALUE);
	} else if ((word & 0xff000000u) == 0x54000000u) {
		operation->class = CLASS_branch_if;
		operation->branch = BRANCH_IF;
		add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
	} else if ((word & 0xfe000000u) == 0xd6000000u) {
		branch_by_register(operation, word);
	} else if ((word & 0xff000000u) == 0xd4000000u) {
		operation->class = CLASS_trap;
	} else if ((word & 0xff000000u) == 0xd5000000u) {
		system_instruction(operation, word);
	}
}

struct operation a64_operation(uint32_t word)
{
	struct operation operation = { .class = CLASS_unknown, .bytes = 4 };

	switch (field(word, 25, 4)) {
	case 8:
	case 9:
		a64_immediate(&operation, word);
		break;
	case 10:
	case 11:
		a64_branch(&operation, word);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		a64_memory(&operation, word);
		break;
	case 5:
	case 13:
		a64_register(&operation, word);
		break;
	case 7:
	case 15:
		a64_vector(&operation, word);
		break;
	default:
		break;
	}
	return operation;
}
