/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T32 of Armv7-A: what t32.c says of an instruction, in the classes of A32. Coprocessors, floating point and vectors have
 * the words of A32, or nearly.
 */
#include <stddef.h>

#include "build.h"
#include "t32.h"

#define SP 13u
#define LR 14u
#define PC 15u

struct finer {
	uint32_t mask;
	uint32_t value;
	enum operation_class class;
};

/* Encodings whose class is finer here than that of a microcontroller. The first that fits is the one. */
static const struct finer narrow[] = {
	{ 0xffc0, 0x0000, CLASS_move },      { 0xfc00, 0x1800, CLASS_alu },     { 0xf800, 0x1800, CLASS_alu_imm },
	{ 0xe000, 0x0000, CLASS_shift_imm }, { 0xf800, 0x2000, CLASS_move },    { 0xffc0, 0x4340, CLASS_mul32 },
	{ 0xe000, 0x2000, CLASS_alu_imm },   { 0xffc0, 0x4080, CLASS_shift },   { 0xffc0, 0x40c0, CLASS_shift },
	{ 0xffc0, 0x4100, CLASS_shift },     { 0xffc0, 0x41c0, CLASS_shift },   { 0xffc0, 0x4140, CLASS_alu_carry },
	{ 0xffc0, 0x4180, CLASS_alu_carry }, { 0xff80, 0x4280, CLASS_alu },     { 0xffc0, 0x4240, CLASS_alu_imm },
	{ 0xfc00, 0x4000, CLASS_logic },     { 0xff00, 0x4600, CLASS_move },    { 0xfc00, 0x4400, CLASS_alu },
	{ 0xf800, 0xa000, CLASS_address },   { 0xf800, 0xa800, CLASS_alu_imm }, { 0xff00, 0xb000, CLASS_alu_imm },
	{ 0xff00, 0xb200, CLASS_extend },    { 0xff00, 0xba00, CLASS_reverse },
};

static const struct finer wide[] = {
	{ 0xffeff0f0, 0xea4f0000, CLASS_move }, /* without a shift */
	{ 0xfff08010, 0xeac00000, CLASS_pack },      { 0xff008000, 0xea000000, CLASS_logic },
	{ 0xffe08000, 0xeb400000, CLASS_alu_carry }, { 0xffe08000, 0xeb600000, CLASS_alu_carry },
	{ 0xfe008000, 0xea000000, CLASS_alu },       { 0xfbef8000, 0xf04f0000, CLASS_move },
	{ 0xfa008000, 0xf0000000, CLASS_alu_imm },   { 0xfbff8000, 0xf20f0000, CLASS_address },
	{ 0xfbff8000, 0xf2af0000, CLASS_address },   { 0xfb708000, 0xf2400000, CLASS_move }, /* MOVW, MOVT */
	{ 0xfb708000, 0xf2c00000, CLASS_move },      { 0xff508000, 0xf3000000, CLASS_saturate },
	{ 0xff708000, 0xf3400000, CLASS_bitfield },  { 0xfff08000, 0xf3600000, CLASS_insert },
	{ 0xfa008000, 0xf2000000, CLASS_alu_imm },   { 0xff80f0f0, 0xfa00f000, CLASS_shift },
	{ 0xff8ff0c0, 0xfa0ff080, CLASS_extend },    { 0xff80f0c0, 0xfa00f080, CLASS_extend_add },
	{ 0xfff0f0c0, 0xfa80f080, CLASS_saturate },  { 0xfff0f0f0, 0xfaa0f080, CLASS_select },
	{ 0xfff0f0c0, 0xfa90f080, CLASS_reverse },   { 0xfff0f0f0, 0xfab0f080, CLASS_count },
	{ 0xff80f080, 0xfa80f000, CLASS_parallel },  { 0xfff0f0f0, 0xfb00f000, CLASS_mul32 },
	{ 0xfff000e0, 0xfb000000, CLASS_mla32 },     { 0xfff0f0e0, 0xfb50f000, CLASS_mul32 }, /* SMMUL */
	{ 0xfff000e0, 0xfb500000, CLASS_mla32 },     { 0xfff000e0, 0xfb600000, CLASS_mla32 },
	{ 0xff800000, 0xfb000000, CLASS_mul16 },     { 0xfff000f0, 0xfbe00060, CLASS_umaal },
};

/* What t32.c does not know, for no microcontroller has it. */
static bool only_here(struct operation *operation, uint32_t word)
{
	if ((word & 0xfff000f0) == 0xe8c00070) { /* STREXD */
		operation->class = CLASS_exclusive;
		operation->store = true;
		operation->moves = 2;
		reads_core(operation, field(word, 12, 4), ROLE_DATA);
		reads_core(operation, field(word, 8, 4), ROLE_DATA);
		reads_core(operation, field(word, 16, 4), ROLE_ADDRESS);
		writes_core(operation, field(word, 0, 4));
	} else if ((word & 0xfff000ff) == 0xe8d0007f) { /* LDREXD */
		operation->class = CLASS_exclusive;
		operation->moves = 2;
		reads_core(operation, field(word, 16, 4), ROLE_ADDRESS);
		writes_core(operation, field(word, 12, 4));
		writes_core(operation, field(word, 8, 4));
	} else if ((word & 0xffd0ffff) == 0xe810c000 || (word & 0xffd0ffff) == 0xe990c000) { /* RFE */
		operation->class = CLASS_trap;
		reads_core(operation, field(word, 16, 4), ROLE_ADDRESS);
		if (bit(word, 21))
			writes_core(operation, field(word, 16, 4));
	} else if ((word & 0xffdfffe0) == 0xe80dc000 || (word & 0xffdfffe0) == 0xe98dc000) { /* SRS */
		operation->class = CLASS_system;
	} else if ((word & 0xffffff00) == 0xf3de8f00 || (word & 0xffe0f000) == 0xf7e08000) { /* ERET, HVC, SMC */
		operation->class = CLASS_trap;
	} else if ((word & 0xfffff800) == 0xf3af8000 && (word & 0x700)) { /* CPS */
		operation->class = CLASS_system;
	} else if ((word & 0xffe0d000) == 0xf3e08000) { /* MRS */
		operation->class = CLASS_system;
		writes_core(operation, field(word, 8, 4));
	} else if ((word & 0xffe0d000) == 0xf3808000) { /* MSR */
		operation->class = CLASS_system;
		reads_core(operation, field(word, 16, 4), ROLE_VALUE);
	} else if ((word & 0xfff0ffff) == 0xf3c08f00) { /* BXJ */
		operation->class = CLASS_jump;
		operation->branch = BRANCH_JUMP;
		reads_core(operation, field(word, 16, 4), ROLE_VALUE);
	} else if ((word & 0xf800d001) == 0xf000c000) { /* BLX */
		operation->class = CLASS_call;
		operation->branch = BRANCH_CALL;
		writes_core(operation, LR);
	} else if ((word & 0xfff0f000) == 0xf8b0f000 || (word & 0xfff0ff00) == 0xf830fc00) { /* PLDW */
		operation->class = CLASS_prefetch;
		reads_core(operation, field(word, 16, 4), ROLE_ADDRESS);
	} else if ((word & 0xfff0ffc0) == 0xf830f000) {
		operation->class = CLASS_prefetch;
		reads_core(operation, field(word, 16, 4), ROLE_ADDRESS);
		reads_core(operation, field(word, 0, 4), ROLE_ADDRESS);
	} else {
		return false;
	}
	return true;
}

/* Coprocessors, floating point and vectors: as the word of A32. */
static bool as_a32(struct operation *operation, uint32_t word)
{
	if ((word & 0xef000000) == 0xef000000)
		*operation = a32_operation(0xf2000000 | bit(word, 28) << 24 | (word & 0x00ffffff));
	else if ((word & 0xff100000) == 0xf9000000)
		*operation = a32_operation(0xf4000000 | (word & 0x00ffffff));
	else if ((word & 0xec000000) == 0xec000000)
		*operation = a32_operation(word);
	else
		return false;
	return true;
}

static enum operation_class memory_class(const struct t32_op *op, uint32_t word)
{
	bool pair = op->bytes == 4 && (word & 0xfe400000) == 0xe8400000;
	bool scaled = op->indexed && op->bytes == 4 && field(word, 4, 2) && field(word, 4, 2) != 2;

	if (op->class == T32_STORES)
		return pair ? CLASS_store_pair : CLASS_store_multi;
	if (op->class == T32_LOADS)
		return pair ? CLASS_load_pair : CLASS_load_multi;
	if (op->class == T32_STORE)
		return op->indexed ? CLASS_store_index : CLASS_store;
	if (op->element < 4)
		return scaled ? CLASS_load_byte_shift : op->indexed ? CLASS_load_byte_index : CLASS_load_byte;
	return scaled ? CLASS_load_shift : op->indexed ? CLASS_load_index : CLASS_load;
}

static enum operation_class class_of(const struct t32_op *op, uint32_t word)
{
	static const uint8_t classes[T32_CLASSES] = {
		[T32_UNKNOWN] = CLASS_unknown,
		[T32_ALU] = CLASS_alu,
		[T32_SHIFT] = CLASS_shift_imm,
		[T32_SHIFTED] = CLASS_alu_shift,
		[T32_DSP] = CLASS_parallel,
		[T32_MUL] = CLASS_mul32,
		[T32_MLA] = CLASS_mla32,
		[T32_MULL] = CLASS_mull,
		[T32_MLAL] = CLASS_mlal,
		[T32_DIV] = CLASS_div32,
		[T32_EXCLUSIVE] = CLASS_exclusive,
		[T32_BRANCH] = CLASS_branch,
		[T32_CALL] = CLASS_call,
		[T32_JUMP] = CLASS_jump,
		[T32_TABLE] = CLASS_load_byte_index,
		[T32_SYSTEM] = CLASS_system,
		[T32_BARRIER] = CLASS_barrier,
		[T32_HINT] = CLASS_hint,
		[T32_TRAP] = CLASS_trap,
	};
	const struct finer *table = op->bytes == 2 ? narrow : wide;
	size_t count = op->bytes == 2 ? sizeof(narrow) / sizeof(narrow[0]) : sizeof(wide) / sizeof(wide[0]);
	bool data = op->class >= T32_ALU && op->class <= T32_MLAL && op->class != T32_MULL;
	enum operation_class class = (enum operation_class)classes[op->class];

	if (op->class >= T32_LOAD && op->class <= T32_STORES)
		return memory_class(op, word);
	if (op->class == T32_HINT && (word & 0xfe000000) == 0xf8000000)
		return CLASS_prefetch;
	if (op->bytes == 2 && (word & 0xffe0) == 0xb660) /* CPS: a microcontroller has no bit for aborts */
		return CLASS_system;
	for (size_t i = 0; data && i < count; i++)
		if ((word & table[i].mask) == table[i].value) {
			class = table[i].class;
			break;
		}
	if (op->class == T32_SHIFTED && class == CLASS_logic)
		return CLASS_logic_shift;
	if (op->class == T32_SHIFTED && (class == CLASS_alu || class == CLASS_alu_carry))
		return CLASS_alu_shift;
	return op->class == T32_SHIFT && class == CLASS_logic ? CLASS_shift_imm : class;
}

static void take_registers(struct operation *operation, uint16_t mask, enum role role)
{
	for (unsigned int number = 0; mask; number++, mask >>= 1)
		if (mask & 1)
			reads_core(operation, number, role);
}

/* The operand that is shifted, or extended and added: the last register of the word. */
static void mark_shifted(struct operation *operation, uint32_t word)
{
	bool shifted = operation->class == CLASS_alu_shift || operation->class == CLASS_logic_shift ||
		       operation->class == CLASS_pack || operation->class == CLASS_extend_add;

	for (unsigned int i = 0; shifted && i < operation->sources; i++)
		if (operation->source[i] == field(word, 0, 4))
			operation->role[i] = ROLE_SHIFTED;
}

static void take_results(struct operation *operation, const struct t32_op *op, bool if_then)
{
	uint16_t base = op->updates ? op->address & op->written : 0;

	for (unsigned int number = 0; number < PC; number++)
		if ((op->written & ~base) >> number & 1)
			writes_core(operation, number);
	if (op->sets_flags && !(if_then && op->bytes == 2 && op->written))
		a32_sets_flags(operation);
	for (unsigned int number = 0; number < PC; number++)
		if (base >> number & 1)
			writes_back_core(operation, number);
}

static void take_branch(struct operation *operation, const struct t32_op *op, uint32_t word)
{
	bool loads = op->class == T32_LOAD || op->class == T32_LOADS;

	if (op->class == T32_TABLE) {
		operation->branch = BRANCH_JUMP;
		operation->moves = 1;
	} else if (loads && op->written >> PC & 1) {
		operation->branch = op->address == 1u << SP ? BRANCH_RETURN : BRANCH_JUMP;
	} else if (op->class == T32_BRANCH) {
		operation->branch = op->conditional ? BRANCH_IF : BRANCH_DIRECT;
		operation->class = op->conditional ? CLASS_branch_if : CLASS_branch;
		if (op->conditional && op->operands)
			operation->class = CLASS_branch_zero;
	} else if (op->class == T32_CALL) {
		operation->branch = BRANCH_CALL;
	} else if (op->class == T32_JUMP && op->bytes == 2 && (word & 0xff80) == 0x4780) {
		operation->class = CLASS_call;
		operation->branch = BRANCH_CALL_REGISTER;
	} else if (op->class == T32_JUMP) {
		bool back = op->operands == 1u << LR || op->operands == (1u << LR | 1u << PC);

		operation->class = back ? CLASS_ret : CLASS_jump;
		operation->branch = back ? BRANCH_RETURN : BRANCH_JUMP;
	}
}

static struct operation of_core(const struct t32_op *op, uint32_t word, bool if_then)
{
	struct operation operation = { .class = (uint8_t)class_of(op, word), .bytes = op->bytes };

	if (op->class >= T32_LOAD && op->class <= T32_EXCLUSIVE) {
		operation.store = op->store;
		operation.moves = op->registers;
		if (op->indexed)
			operation.index = (uint8_t)(1 + (op->bytes == 2 ? field(word, 6, 3) : field(word, 0, 4)));
	}
	take_registers(&operation, op->operands, ROLE_VALUE);
	take_registers(&operation, op->sum, ROLE_ACCUMULATE);
	take_registers(&operation, op->data, ROLE_DATA);
	take_registers(&operation, op->address, ROLE_ADDRESS);
	if (op->reads_flags && operation.class != CLASS_select)
		add_source(&operation, REGISTER_FLAGS, ROLE_VALUE);
	if (operation.class == CLASS_select)
		add_source(&operation, REGISTER_PARALLEL_FLAGS, ROLE_VALUE);
	mark_shifted(&operation, word);
	take_results(&operation, op, if_then);
	/* Signed and unsigned ones that neither saturate nor halve. */
	if (operation.class == CLASS_parallel && !field(word, 4, 2))
		add_result(&operation, REGISTER_PARALLEL_FLAGS);
	take_branch(&operation, op, word);
	return operation;
}

struct operation t32_operation(const uint8_t *bytes, bool if_then)
{
	uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8;
	struct operation operation = { .class = CLASS_unknown, .bytes = 4 };
	struct t32_op op;

	if (t32_bytes((uint16_t)word) == 4) {
		word = word << 16 | bytes[2] | (uint32_t)bytes[3] << 8;
		if (only_here(&operation, word) || as_a32(&operation, word)) {
			if (if_then)
				a32_make_conditional(&operation);
			return operation;
		}
	}
	t32_decode(bytes, &op);
	operation = of_core(&op, word, if_then);
	if (if_then && operation.class != CLASS_unknown)
		a32_make_conditional(&operation);
	return operation;
}

unsigned int t32_if_then(const uint8_t *bytes)
{
	unsigned int count = 4;

	if (bytes[1] != 0xbf || !(bytes[0] & 15))
		return 0;
	while (!(bytes[0] >> (4 - count) & 1))
		count--;
	return count;
}
