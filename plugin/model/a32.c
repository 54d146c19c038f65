/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A32, by a table of encodings (Arm ARM for Armv7-A, chapter A5). */
#include <stddef.h>
#include <string.h>

#include "build.h"

#define SP 13u
#define LR 14u
#define PC 15u
#define CONDITION 0xf0000000u
#define ALWAYS 0xe0000000u
#define NO_CONDITION 0xf0000000u

/*
 * An encoding: it is this one if the bits of `mask` have `value`. `operands` names registers in pairs of letters, a role
 * and a field, then properties behind a comma.
 *
 * Roles: w written, r read, b both, h read and shifted, a address, x address that may be written back, s stored,
 * c added at the end.
 * Fields: N D S M registers at bits 16, 12, 8 and 0; d m the one behind D or M; l the link register.
 * Properties: z flags set by bit 20; Z flags set always; f reads the flags; S shifted by a constant, if one is encoded;
 * H shifted by a register; I indexed by a register that may be shifted; W writes back by bits 24 and 21; w by bit 21;
 * R list of registers; g G reads or writes the flags of parallel additions; P without a summand a product alone.
 */
struct encoding {
	uint32_t mask;
	uint32_t value;
	enum operation_class class;
	const char *operands;
};

static const struct encoding conditional[] = {
	/* products */
	{ 0x0fe0f0f0, 0x00000090, CLASS_mul32, "wNrSrM,z" },
	{ 0x0fe000f0, 0x00200090, CLASS_mla32, "wNcDrSrM,z" },
	{ 0x0ff000f0, 0x00400090, CLASS_umaal, "wDwNcDcNrSrM," },
	{ 0x0ff000f0, 0x00600090, CLASS_mla32, "wNcDrSrM," },
	{ 0x0fa000f0, 0x00800090, CLASS_mull, "wDwNrSrM,z" },
	{ 0x0fa000f0, 0x00a00090, CLASS_mlal, "wDwNcDcNrSrM,z" },
	{ 0x0ff00090, 0x01000080, CLASS_mul16, "wNcDrSrM," },
	{ 0x0ff000b0, 0x01200080, CLASS_mul16, "wNcDrSrM," },
	{ 0x0ff0f0b0, 0x012000a0, CLASS_mul16, "wNrSrM," },
	{ 0x0ff00090, 0x01400080, CLASS_mlal, "wDwNcDcNrSrM," },
	{ 0x0ff0f090, 0x01600080, CLASS_mul16, "wNrSrM," },
	/* exclusive accesses */
	{ 0x0fb00ff0, 0x01000090, CLASS_exclusive, "wDsMaN," }, /* SWP */
	{ 0x0ff00ff0, 0x01a00f90, CLASS_exclusive, "wDsMsmaN," },
	{ 0x0ff00fff, 0x01b00f9f, CLASS_exclusive, "wDwdaN," },
	{ 0x0f900ff0, 0x01800f90, CLASS_exclusive, "wDsMaN," },
	{ 0x0f900fff, 0x01900f9f, CLASS_exclusive, "wDaN," },
	/* halfwords, signed bytes, two registers; by a constant and by a register */
	{ 0x0e5000f0, 0x004000b0, CLASS_store, "sDxN,W" },
	{ 0x0e5000f0, 0x005000b0, CLASS_load_byte, "wDxN,W" },
	{ 0x0e5000f0, 0x004000d0, CLASS_load_pair, "wDwdxN,W" },
	{ 0x0e5000f0, 0x005000d0, CLASS_load_byte, "wDxN,W" },
	{ 0x0e5000f0, 0x004000f0, CLASS_store_pair, "sDsdxN,W" },
	{ 0x0e5000f0, 0x005000f0, CLASS_load_byte, "wDxN,W" },
	{ 0x0e500ff0, 0x000000b0, CLASS_store_index, "sDxNaM,W" },
	{ 0x0e500ff0, 0x001000b0, CLASS_load_byte_index, "wDxNaM,W" },
	{ 0x0e500ff0, 0x000000d0, CLASS_load_pair, "wDwdxNaM,W" },
	{ 0x0e500ff0, 0x001000d0, CLASS_load_byte_index, "wDxNaM,W" },
	{ 0x0e500ff0, 0x000000f0, CLASS_store_pair, "sDsdxNaM,W" },
	{ 0x0e500ff0, 0x001000f0, CLASS_load_byte_index, "wDxNaM,W" },
	/* status registers, branches by register, and their neighbours */
	{ 0x0fbf0fff, 0x010f0000, CLASS_system, "wD," }, /* MRS */
	{ 0x0fb00eff, 0x01000200, CLASS_system, "wD," },
	{ 0x0fb0fff0, 0x0120f000, CLASS_system, "rM," }, /* MSR */
	{ 0x0fb0fef0, 0x0120f200, CLASS_system, "rM," },
	{ 0x0ffffff0, 0x012fff10, CLASS_jump, "rM," },
	{ 0x0ffffff0, 0x012fff20, CLASS_jump, "rM," }, /* BXJ */
	{ 0x0ffffff0, 0x012fff30, CLASS_call, "rMwl," },
	{ 0x0fff0ff0, 0x016f0f10, CLASS_count, "wDrM," },
	{ 0x0f900ff0, 0x01000050, CLASS_saturate, "wDrNrM," }, /* QADD and its like */
	{ 0x0ff000f0, 0x01200070, CLASS_trap, "," },           /* BKPT */
	{ 0x0ff000f0, 0x01400070, CLASS_trap, "," },           /* HVC */
	{ 0x0ff000f0, 0x01600070, CLASS_trap, "," },           /* SMC */
	{ 0x0fffffff, 0x0160006e, CLASS_trap, "," },           /* ERET */
	/* data processing with a constant */
	{ 0x0ff00000, 0x03000000, CLASS_move, "wD," }, /* MOVW */
	{ 0x0ff00000, 0x03400000, CLASS_move, "bD," }, /* MOVT */
	{ 0x0fffff00, 0x0320f000, CLASS_hint, "," },
	{ 0x0fb0f000, 0x0320f000, CLASS_system, "," }, /* MSR */
	{ 0x0f90f000, 0x03100000, CLASS_alu_imm, "rN,Z" },
	{ 0x0fe0f000, 0x03a00000, CLASS_move, "wD,z" },
	{ 0x0feff000, 0x03a0f000, CLASS_move, "wD,z" },
	{ 0x0fe00000, 0x03a00000, CLASS_move, "wD,z" },
	{ 0x0fe00000, 0x03e00000, CLASS_alu_imm, "wD,z" },
	{ 0x0fbf0000, 0x020f0000, CLASS_alu_imm, "wDrN,z" },
	{ 0x0ff00000, 0x028f0000, CLASS_address, "wD," }, /* ADR */
	{ 0x0ff00000, 0x024f0000, CLASS_address, "wD," },
	{ 0x0fe00000, 0x02a00000, CLASS_alu_imm, "wDrN,fz" },
	{ 0x0fe00000, 0x02c00000, CLASS_alu_imm, "wDrN,fz" },
	{ 0x0fe00000, 0x02e00000, CLASS_alu_imm, "wDrN,fz" },
	{ 0x0f000000, 0x02000000, CLASS_alu_imm, "wDrN,z" },
	{ 0x0fa00000, 0x03800000, CLASS_alu_imm, "wDrN,z" },
	/* with a register, shifted by a constant or not at all */
	{ 0x0ff00010, 0x01100000, CLASS_logic, "rNhM,SZ" }, /* TST */
	{ 0x0ff00010, 0x01300000, CLASS_logic, "rNhM,SZ" },
	{ 0x0ff00010, 0x01500000, CLASS_alu, "rNhM,SZ" }, /* CMP */
	{ 0x0ff00010, 0x01700000, CLASS_alu, "rNhM,SZ" },
	{ 0x0fe00010, 0x00000000, CLASS_logic, "wDrNhM,Sz" },
	{ 0x0fe00010, 0x00200000, CLASS_logic, "wDrNhM,Sz" },
	{ 0x0fe00010, 0x00400000, CLASS_alu, "wDrNhM,Sz" },
	{ 0x0fe00010, 0x00600000, CLASS_alu, "wDrNhM,Sz" },
	{ 0x0fe00010, 0x00800000, CLASS_alu, "wDrNhM,Sz" },
	{ 0x0fe00010, 0x00a00000, CLASS_alu_carry, "wDrNhM,Sfz" },
	{ 0x0fe00010, 0x00c00000, CLASS_alu_carry, "wDrNhM,Sfz" },
	{ 0x0fe00010, 0x00e00000, CLASS_alu_carry, "wDrNhM,Sfz" },
	{ 0x0fe00010, 0x01800000, CLASS_logic, "wDrNhM,Sz" },
	{ 0x0fe00010, 0x01a00000, CLASS_move, "wDhM,Sz" },
	{ 0x0fe00010, 0x01c00000, CLASS_logic, "wDrNhM,Sz" },
	{ 0x0fe00010, 0x01e00000, CLASS_logic, "wDhM,Sz" },
	/* shifted by a register */
	{ 0x0f900090, 0x01100010, CLASS_alu_shift_reg, "rNhMrS,Z" },
	{ 0x0fe00090, 0x01a00010, CLASS_shift, "wDrMrS,z" },
	{ 0x0fe00090, 0x01e00010, CLASS_alu_shift_reg, "wDhMrS,z" },
	{ 0x0fe00090, 0x00a00010, CLASS_alu_shift_reg, "wDrNhMrS,fz" },
	{ 0x0fe00090, 0x00c00010, CLASS_alu_shift_reg, "wDrNhMrS,fz" },
	{ 0x0fe00090, 0x00e00010, CLASS_alu_shift_reg, "wDrNhMrS,fz" },
	{ 0x0f000090, 0x00000010, CLASS_alu_shift_reg, "wDrNhMrS,z" },
	{ 0x0fa00090, 0x01800010, CLASS_alu_shift_reg, "wDrNhMrS,z" },
	/* loads and stores of one register */
	{ 0x0e500000, 0x04000000, CLASS_store, "sDxN,W" },
	{ 0x0e500000, 0x04100000, CLASS_load, "wDxN,W" },
	{ 0x0e500000, 0x04400000, CLASS_store, "sDxN,W" },
	{ 0x0e500000, 0x04500000, CLASS_load_byte, "wDxN,W" },
	{ 0x0e500010, 0x06000000, CLASS_store_index, "sDxNaM,W" },
	{ 0x0e500010, 0x06100000, CLASS_load_index, "wDxNaM,WI" },
	{ 0x0e500010, 0x06400000, CLASS_store_index, "sDxNaM,W" },
	{ 0x0e500010, 0x06500000, CLASS_load_byte_index, "wDxNaM,WI" },
	/* media */
	{ 0x0f800f10, 0x06000f10, CLASS_parallel, "wDrNrM,G" },
	{ 0x0ff00030, 0x06800010, CLASS_pack, "wDrNhM," },
	{ 0x0ff00ff0, 0x06800fb0, CLASS_select, "wDrNrM,g" },
	{ 0x0f8f03f0, 0x068f0070, CLASS_extend, "wDrM," },
	{ 0x0f8003f0, 0x06800070, CLASS_extend_add, "wDrNhM," },
	{ 0x0fb00ff0, 0x06a00f30, CLASS_saturate, "wDrM," }, /* SSAT16, USAT16 */
	{ 0x0fa00030, 0x06a00010, CLASS_saturate, "wDhM," },
	{ 0x0fbf0f70, 0x06bf0f30, CLASS_reverse, "wDrM," },
	{ 0x0ff00090, 0x07000010, CLASS_mul16, "wNcDrSrM," }, /* SMLAD, SMUAD and their like */
	{ 0x0fd0f0f0, 0x0710f010, CLASS_div32, "wNrSrM," },
	{ 0x0ff00090, 0x07400010, CLASS_mlal, "wDwNcDcNrSrM," },
	{ 0x0ff000d0, 0x07500010, CLASS_mla32, "wNcDrSrM,P" },
	{ 0x0ff000d0, 0x075000d0, CLASS_mla32, "wNcDrSrM," },
	{ 0x0ff000f0, 0x07800010, CLASS_mul16, "wNcDrSrM," }, /* USAD8, USADA8 */
	{ 0x0fa00070, 0x07a00050, CLASS_bitfield, "wDrM," },
	{ 0x0fe0007f, 0x07c0001f, CLASS_insert, "bD," },
	{ 0x0fe00070, 0x07c00010, CLASS_insert, "bDrM," },
	{ 0x0ff000f0, 0x07f000f0, CLASS_trap, "," },
	/* several registers, branches, coprocessors */
	{ 0x0e508000, 0x08508000, CLASS_trap, "xN,wR" }, /* return from an exception */
	{ 0x0e100000, 0x08000000, CLASS_store_multi, "xN,wR" },
	{ 0x0e100000, 0x08100000, CLASS_load_multi, "xN,wR" },
	{ 0x0f000000, 0x0a000000, CLASS_branch, "," },
	{ 0x0f000000, 0x0b000000, CLASS_call, "wl," },
	{ 0x0ff00000, 0x0c400000, CLASS_system, "rDrN," }, /* MCRR */
	{ 0x0ff00000, 0x0c500000, CLASS_system, "wDwN," }, /* MRRC */
	{ 0x0e000000, 0x0c000000, CLASS_system, "xN,w" },  /* LDC, STC */
	{ 0x0f100010, 0x0e000010, CLASS_system, "rD," },   /* MCR */
	{ 0x0f10f010, 0x0e10f010, CLASS_system, ",Z" },    /* MRC to the flags */
	{ 0x0f100010, 0x0e100010, CLASS_system, "wD," },
	{ 0x0f000010, 0x0e000000, CLASS_system, "," }, /* CDP */
	{ 0x0f000000, 0x0f000000, CLASS_trap, "," },   /* SVC */
};

static const struct encoding unconditional[] = {
	{ 0xfff10020, 0xf1000000, CLASS_system, "," }, /* CPS */
	{ 0xfffffdff, 0xf1010000, CLASS_system, "," }, /* SETEND */
	{ 0xffffffff, 0xf57ff01f, CLASS_barrier, "," },      { 0xffffffc0, 0xf57ff040, CLASS_barrier, "," },
	{ 0xff30f000, 0xf510f000, CLASS_prefetch, "aN," },   { 0xff70f000, 0xf450f000, CLASS_prefetch, "aN," },
	{ 0xff30f010, 0xf710f000, CLASS_prefetch, "aNaM," }, { 0xff70f010, 0xf650f000, CLASS_prefetch, "aNaM," },
	{ 0xfe50ffe0, 0xf84d0500, CLASS_system, "," },                                                      /* SRS */
	{ 0xfe50ffff, 0xf8100a00, CLASS_trap, "xN,w" },                                                     /* RFE */
	{ 0xfe000000, 0xfa000000, CLASS_call, "wl," },       { 0xff000010, 0xfe000000, CLASS_system, "," }, /* CDP2 */
	{ 0xff100010, 0xfe000010, CLASS_system, "rD," },     { 0xff10f010, 0xfe10f010, CLASS_system, ",Z" },
	{ 0xff100010, 0xfe100010, CLASS_system, "wD," },     { 0xfff00000, 0xfc400000, CLASS_system, "rDrN," },
	{ 0xfff00000, 0xfc500000, CLASS_system, "wDwN," },   { 0xfe000000, 0xfc000000, CLASS_system, "xN,w" },
};

static unsigned int field_register(uint32_t word, char name)
{
	switch (name) {
	case 'N':
		return field(word, 16, 4);
	case 'D':
		return field(word, 12, 4);
	case 'd':
		return (field(word, 12, 4) + 1) & 15;
	case 'S':
		return field(word, 8, 4);
	case 'M':
		return field(word, 0, 4);
	case 'm':
		return (field(word, 0, 4) + 1) & 15;
	default:
		return LR;
	}
}

static void take_operand(struct operation *operation, char role, unsigned int number)
{
	static const char roles[] = "rhcas";
	static const uint8_t meanings[] = { ROLE_VALUE, ROLE_SHIFTED, ROLE_ACCUMULATE, ROLE_ADDRESS, ROLE_DATA };
	const char *found = strchr(roles, role);

	if (found)
		reads_core(operation, number, (enum role)meanings[found - roles]);
	if (role == 'b')
		reads_core(operation, number, ROLE_VALUE);
	if (role == 'b' || role == 'w')
		writes_core(operation, number);
	if (role == 'x')
		reads_core(operation, number, ROLE_ADDRESS);
}

static void take_list(struct operation *operation, uint32_t word)
{
	for (unsigned int number = 0; number <= PC; number++) {
		if (!bit(word, number))
			continue;
		operation->moves++;
		if (operation->class == CLASS_store_multi)
			reads_core(operation, number, ROLE_DATA);
		else
			writes_core(operation, number);
	}
}

/* An operand that is shifted by a constant; without a shift it is a value like others. */
static void take_shift(struct operation *operation, uint32_t word)
{
	if (!(word & 0xfe0)) {
		for (unsigned int i = 0; i < operation->sources; i++)
			operation->role[i] = ROLE_VALUE;
		return;
	}
	if (operation->class == CLASS_logic)
		operation->class = CLASS_logic_shift;
	else
		operation->class = operation->class == CLASS_move ? CLASS_shift_imm : CLASS_alu_shift;
	if ((word & 0xfe0) == 0x60) /* RRX */
		add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
}

/* By nothing or four times the index the address is there as soon as without it. */
static void take_index(struct operation *operation, uint32_t word)
{
	if ((word & 0xfe0) && (word & 0xfe0) != 0x100)
		operation->class = operation->class == CLASS_load_index ? CLASS_load_shift : CLASS_load_byte_shift;
}

static void take_property(struct operation *operation, uint32_t word, char property)
{
	switch (property) {
	case 'z':
		if (bit(word, 20))
			a32_sets_flags(operation);
		break;
	case 'Z':
		a32_sets_flags(operation);
		break;
	case 'f':
		add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
		break;
	case 'S':
		take_shift(operation, word);
		break;
	case 'I':
		take_index(operation, word);
		break;
	case 'R':
		take_list(operation, word);
		break;
	case 'g':
		add_source(operation, REGISTER_PARALLEL_FLAGS, ROLE_VALUE);
		break;
	case 'G':
		if (field(word, 20, 2) == 1)
			add_result(operation, REGISTER_PARALLEL_FLAGS);
		break;
	case 'P':
		if (field(word, 12, 4) == PC)
			operation->class = CLASS_mul32;
		break;
	default:
		break;
	}
}

/* Whether the address register is written; it is the last result, unless it is loaded too. */
static void take_write_back(struct operation *operation, uint32_t word, const char *properties)
{
	unsigned int base = field(word, 16, 4);
	bool back = strchr(properties, 'w') ? bit(word, 21)
					    : strchr(properties, 'W') && (!bit(word, 24) || bit(word, 21));

	if (!back || base == PC)
		return;
	for (unsigned int i = 0; i < operation->results; i++)
		if (operation->result[i] == base)
			return;
	add_result(operation, base);
	operation->base_result = operation->moves;
}

static bool is_store(const char *operands)
{
	const char *end = strchr(operands, ',');

	for (; operands < end; operands += 2)
		if (*operands == 's')
			return true;
	return false;
}

static bool processes_data(enum operation_class class)
{
	switch (class) {
	case CLASS_alu:
	case CLASS_alu_flags:
	case CLASS_alu_carry:
	case CLASS_alu_shift:
	case CLASS_alu_imm:
	case CLASS_alu_shift_reg:
	case CLASS_logic:
	case CLASS_logic_flags:
	case CLASS_logic_shift:
	case CLASS_move:
	case CLASS_shift:
	case CLASS_shift_imm:
	case CLASS_address:
		return true;
	default:
		return false;
	}
}

/* What is written to the program counter is a branch. */
static void take_jump(struct operation *operation, uint32_t word, const char *operands)
{
	bool loads = operation->moves && !operation->store;
	bool all = operation->class == CLASS_load_multi;
	bool to_pc = all ? bit(word, PC) : operands[0] == 'w' && operands[1] == 'D' && field(word, 12, 4) == PC;
	bool from_stack = field(word, 16, 4) == SP;

	if (operation->class == CLASS_branch) {
		operation->branch = BRANCH_DIRECT;
	} else if (operation->class == CLASS_call) {
		operation->branch = operation->sources ? BRANCH_CALL_REGISTER : BRANCH_CALL;
	} else if (operation->class == CLASS_jump) {
		operation->branch = BRANCH_JUMP;
	} else if (to_pc && loads) {
		operation->branch = from_stack ? BRANCH_RETURN : BRANCH_JUMP;
		return;
	} else if (to_pc && processes_data((enum operation_class)operation->class)) {
		operation->class = bit(word, 20) ? CLASS_trap : CLASS_jump; /* with flags: return from an exception */
		operation->branch = bit(word, 20) ? BRANCH_NONE : BRANCH_JUMP;
	}
	/* BX lr, MOV pc, lr */
	if (operation->class == CLASS_jump && operation->sources == 1 && operation->source[0] == LR) {
		operation->class = CLASS_ret;
		operation->branch = BRANCH_RETURN;
	}
}

static void take(struct operation *operation, const struct encoding *encoding, uint32_t word)
{
	const char *at = encoding->operands;
	const char *properties = strchr(at, ',') + 1;
	bool memory = strpbrk(at, "x") || encoding->class == CLASS_exclusive;

	operation->class = (uint8_t)encoding->class;
	operation->store = is_store(at) || encoding->class == CLASS_store_multi;
	for (; *at != ','; at += 2) {
		take_operand(operation, at[0], field_register(word, at[1]));
		if (memory && (at[0] == 's' || (at[0] == 'w' && !is_store(encoding->operands))))
			operation->moves++;
	}
	for (at = properties; *at; at++)
		take_property(operation, word, *at);
	take_write_back(operation, word, properties);
	take_jump(operation, word, encoding->operands);
}

void a32_sets_flags(struct operation *operation)
{
	if (operation->class == CLASS_alu)
		operation->class = CLASS_alu_flags;
	else if (operation->class == CLASS_logic)
		operation->class = CLASS_logic_flags;
	add_result(operation, REGISTER_FLAGS);
}

void a32_make_conditional(struct operation *operation)
{
	unsigned int results = operation->results;

	operation->conditional = true;
	add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
	if (operation->class == CLASS_branch) {
		operation->class = CLASS_branch_if;
		operation->branch = BRANCH_IF;
		return;
	}
	for (unsigned int i = 0; i < results; i++)
		add_source(operation, operation->result[i], ROLE_VALUE);
}

static bool find(struct operation *operation, uint32_t word, const struct encoding *encodings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((word & encodings[i].mask) == encodings[i].value) {
			take(operation, &encodings[i], word);
			return true;
		}
	return false;
}

struct operation a32_operation(uint32_t word)
{
	struct operation operation = { .class = CLASS_unknown, .bytes = 4 };
	bool always = (word & CONDITION) == ALWAYS;
	bool of_floats = field(word, 9, 3) == 5 && (field(word, 25, 3) == 6 || field(word, 24, 4) == 14);

	if ((word & CONDITION) == NO_CONDITION) {
		if ((word & 0x0e000000u) == 0x02000000u)
			a32_vector(&operation, word);
		else if ((word & 0x0f100000u) == 0x04000000u)
			a32_structures(&operation, word);
		else
			find(&operation, word, unconditional, sizeof(unconditional) / sizeof(unconditional[0]));
		return operation;
	}
	if (of_floats)
		a32_float(&operation, word);
	else
		find(&operation, word, conditional, sizeof(conditional) / sizeof(conditional[0]));
	if (!always && operation.class != CLASS_unknown)
		a32_make_conditional(&operation);
	return operation;
}
