/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A64: vectors, floating point and cryptography (Arm ARM, C4.1.95). */
#include "build.h"

/* Rd of a form that also reads what it writes. */
static void also_reads_result(struct operation *operation, uint32_t word, enum role role)
{
	reads_vector(operation, field(word, 0, 5), role);
}

static void one_vector(struct operation *operation, uint32_t word)
{
	reads_vector(operation, field(word, 5, 5), ROLE_VALUE);
	writes_vector(operation, field(word, 0, 5));
}

static void two_vectors(struct operation *operation, uint32_t word)
{
	reads_vector(operation, field(word, 16, 5), ROLE_VALUE);
	one_vector(operation, word);
}

static enum operation_class float_same(uint32_t word)
{
	bool u = bit(word, 29);

	switch (field(word, 11, 3)) {
	case 1:
		return u ? CLASS_f_compare : CLASS_f_mac;
	case 2:
		return CLASS_f_add;
	case 3:
		return CLASS_f_mul;
	case 7:
		return u ? (bit(word, 22) ? CLASS_f_div64 : CLASS_f_div32) : CLASS_f_mac;
	default:
		return CLASS_f_compare;
	}
}

static enum operation_class logic_same(uint32_t word)
{
	if (bit(word, 29))
		return field(word, 22, 2) ? CLASS_v_select : CLASS_v_logic;
	return field(word, 22, 2) == 2 && field(word, 5, 5) == field(word, 16, 5) ? CLASS_v_move : CLASS_v_logic;
}

static void three_same(struct operation *operation, uint32_t word)
{
	static const uint8_t classes[24] = {
		CLASS_v_add,         CLASS_v_saturate,  CLASS_v_add,     CLASS_v_logic,     CLASS_v_add,
		CLASS_v_saturate,    CLASS_v_compare,   CLASS_v_compare, CLASS_v_shift_reg, CLASS_v_shift_reg,
		CLASS_v_shift_reg,   CLASS_v_shift_reg, CLASS_v_minmax,  CLASS_v_minmax,    CLASS_v_absdiff,
		CLASS_v_absdiff_acc, CLASS_v_add,       CLASS_v_compare, CLASS_v_mla,       CLASS_v_mul,
		CLASS_v_pairwise,    CLASS_v_pairwise,  CLASS_v_mulh,    CLASS_v_pairwise,
	};
	unsigned int opcode = field(word, 11, 5);

	operation->class = (uint8_t)(opcode >= 24 ? float_same(word) : classes[opcode]);
	if (opcode == 3)
		operation->class = (uint8_t)logic_same(word);
	else if (opcode == 19 && bit(word, 29))
		operation->class = CLASS_v_pmull;
	if (operation->class == CLASS_v_move) {
		one_vector(operation, word);
		return;
	}
	two_vectors(operation, word);
	if (operation->class == CLASS_v_select)
		also_reads_result(operation, word, ROLE_VALUE);
	else if (operation->class == CLASS_v_mla || operation->class == CLASS_v_absdiff_acc ||
		 operation->class == CLASS_f_mac)
		also_reads_result(operation, word, ROLE_ACCUMULATE);
}

static void three_different(struct operation *operation, uint32_t word)
{
	static const uint8_t classes[16] = {
		CLASS_v_long,        CLASS_v_long,        CLASS_v_long,        CLASS_v_long,
		CLASS_v_high_narrow, CLASS_v_absdiff_acc, CLASS_v_high_narrow, CLASS_v_absdiff,
		CLASS_v_mlal,        CLASS_v_mlal,        CLASS_v_mlal,        CLASS_v_mlal,
		CLASS_v_mull,        CLASS_v_mull,        CLASS_v_pmull,       CLASS_unknown,
	};

	operation->class = classes[field(word, 12, 4)];
	if (operation->class == CLASS_v_pmull && field(word, 22, 2) == 3)
		operation->class = CLASS_v_pmull64;
	operation->wide = true; /* the long forms work on 128 bits, whichever half they read */
	two_vectors(operation, word);
	if (operation->class == CLASS_v_mlal || operation->class == CLASS_v_absdiff_acc)
		also_reads_result(operation, word, ROLE_ACCUMULATE);
	else if (operation->class == CLASS_v_high_narrow && bit(word, 30))
		also_reads_result(operation, word, ROLE_VALUE);
}

static enum operation_class misc_class(unsigned int opcode, bool u, bool high)
{
	switch (opcode) {
	case 0:
	case 1:
		return CLASS_v_reverse;
	case 2:
		return CLASS_v_pairwise_long;
	case 4:
		return CLASS_v_count;
	case 5:
		return u && !high ? CLASS_v_logic : CLASS_v_count;
	case 6:
		return CLASS_v_pairwise_acc;
	case 3:
	case 7:
	case 20:
		return CLASS_v_saturate;
	case 8:
	case 9:
	case 10:
		return CLASS_v_compare;
	case 11:
		return CLASS_v_abs;
	case 18:
		return u ? CLASS_v_saturate : CLASS_v_narrow;
	case 19:
		return CLASS_v_shift_long;
	case 12:
	case 13:
	case 14:
		return CLASS_f_compare;
	case 15:
		return CLASS_f_move;
	case 31:
		return u ? CLASS_f_div64 : CLASS_f_convert;
	default:
		return CLASS_f_convert;
	}
}

static void two_misc(struct operation *operation, uint32_t word)
{
	unsigned int opcode = field(word, 12, 5);

	operation->class = (uint8_t)misc_class(opcode, bit(word, 29), field(word, 22, 2));
	one_vector(operation, word);
	if (opcode == 6)
		also_reads_result(operation, word, ROLE_ACCUMULATE);
	else if ((opcode == 18 || opcode == 20) && bit(word, 30))
		also_reads_result(operation, word, ROLE_VALUE);
}

static void copy(struct operation *operation, uint32_t word)
{
	unsigned int rd = field(word, 0, 5);
	unsigned int rn = field(word, 5, 5);

	if (bit(word, 29)) {
		operation->class = CLASS_v_insert;
		one_vector(operation, word);
		also_reads_result(operation, word, ROLE_VALUE);
		return;
	}
	switch (field(word, 11, 4)) {
	case 0:
		operation->class = CLASS_v_dup;
		one_vector(operation, word);
		break;
	case 1:
		operation->class = CLASS_v_from_core;
		reads(operation, rn, ROLE_VALUE);
		writes_vector(operation, rd);
		break;
	case 3:
		operation->class = CLASS_v_insert_core;
		reads(operation, rn, ROLE_VALUE);
		also_reads_result(operation, word, ROLE_VALUE);
		writes_vector(operation, rd);
		break;
	default:
		operation->class = CLASS_v_to_core;
		reads_vector(operation, rn, ROLE_VALUE);
		writes(operation, rd);
		break;
	}
}

static enum operation_class shift_class(unsigned int opcode, bool u)
{
	switch (opcode) {
	case 0:
	case 4:
		return CLASS_v_shift_imm;
	case 2:
	case 6:
		return CLASS_v_shift_acc;
	case 8:
		return CLASS_v_shift_insert;
	case 10:
		return u ? CLASS_v_shift_insert : CLASS_v_shift_imm;
	case 16:
	case 17:
		return u ? CLASS_v_saturate : CLASS_v_shift_narrow;
	case 20:
		return CLASS_v_shift_long;
	case 28:
	case 31:
		return CLASS_f_convert;
	default:
		return CLASS_v_saturate;
	}
}

static void shift_immediate(struct operation *operation, uint32_t word)
{
	unsigned int opcode = field(word, 11, 5);

	operation->class = (uint8_t)shift_class(opcode, bit(word, 29));
	if (operation->class == CLASS_v_shift_long)
		operation->wide = true;
	one_vector(operation, word);
	if (operation->class == CLASS_v_shift_acc)
		also_reads_result(operation, word, ROLE_ACCUMULATE);
	else if (operation->class == CLASS_v_shift_insert)
		also_reads_result(operation, word, ROLE_ACCUMULATE);
	else if (opcode >= 16 && opcode <= 19 && bit(word, 30))
		also_reads_result(operation, word, ROLE_VALUE);
}

static void modified_immediate(struct operation *operation, uint32_t word)
{
	unsigned int mode = field(word, 12, 4);

	operation->class = CLASS_v_immediate;
	if (mode < 12 && mode % 2) { /* ORR, BIC */
		operation->class = CLASS_v_logic;
		also_reads_result(operation, word, ROLE_VALUE);
	}
	writes_vector(operation, field(word, 0, 5));
}

static void by_element(struct operation *operation, uint32_t word)
{
	static const uint8_t classes[16] = {
		CLASS_v_mla,  CLASS_f_mac,  CLASS_v_mlal, CLASS_v_mlal, CLASS_v_mla,  CLASS_f_mac,
		CLASS_v_mlal, CLASS_v_mlal, CLASS_v_mul,  CLASS_f_mul,  CLASS_v_mull, CLASS_v_mull,
		CLASS_v_mulh, CLASS_v_mulh, CLASS_v_mlal, CLASS_v_mulh,
	};

	operation->class = classes[field(word, 12, 4)];
	if (operation->class == CLASS_v_mlal || operation->class == CLASS_v_mull)
		operation->wide = true;
	reads_vector(operation, field(word, 16, field(word, 22, 2) == 1 ? 4 : 5), ROLE_VALUE);
	one_vector(operation, word);
	if (operation->class == CLASS_v_mla || operation->class == CLASS_v_mlal || operation->class == CLASS_f_mac)
		also_reads_result(operation, word, ROLE_ACCUMULATE);
}

static void table_lookup(struct operation *operation, uint32_t word)
{
	operation->class = CLASS_v_table;
	for (unsigned int i = 0; i <= field(word, 13, 2); i++)
		reads_vector(operation, (field(word, 5, 5) + i) % 32, ROLE_VALUE);
	operation->moves = 0;
	reads_vector(operation, field(word, 16, 5), ROLE_VALUE);
	if (bit(word, 12)) /* TBX */
		also_reads_result(operation, word, ROLE_VALUE);
	writes_vector(operation, field(word, 0, 5));
}

static void permute(struct operation *operation, uint32_t word)
{
	unsigned int opcode = field(word, 12, 2);

	operation->class = opcode == 2 ? CLASS_v_trn : CLASS_v_zip;
	two_vectors(operation, word);
}

static void aes(struct operation *operation, uint32_t word)
{
	operation->class = field(word, 12, 5) >= 6 ? CLASS_aes_mix : CLASS_aes;
	one_vector(operation, word);
	if (operation->class == CLASS_aes)
		also_reads_result(operation, word, ROLE_VALUE);
}

static void sha(struct operation *operation, uint32_t word, bool three)
{
	unsigned int opcode = three ? field(word, 12, 3) : field(word, 12, 5);

	operation->wide = true;
	if (three) {
		operation->class = opcode < 3 ? CLASS_sha1 : opcode < 6 ? CLASS_sha256 : CLASS_sha256_schedule;
		if (opcode == 3)
			operation->class = CLASS_sha256_schedule; /* SHA1SU0: as quick as these */
		two_vectors(operation, word);
	} else {
		operation->class = CLASS_sha256_schedule;
		one_vector(operation, word);
	}
	if (three || opcode)
		also_reads_result(operation, word, ROLE_VALUE);
}

/* Vectors of Advanced SIMD, and its scalars. */
static void simd(struct operation *operation, uint32_t word)
{
	operation->wide = bit(word, 30) && !bit(word, 28);
	if (bit(word, 24)) {
		if (!bit(word, 10))
			by_element(operation, word);
		else if (field(word, 19, 4))
			shift_immediate(operation, word);
		else
			modified_immediate(operation, word);
	} else if (bit(word, 21)) {
		if (bit(word, 10))
			three_same(operation, word);
		else if (!bit(word, 11))
			three_different(operation, word);
		else if (field(word, 17, 4) == 8) {
			operation->class = bit(word, 28) ? CLASS_v_pairwise : CLASS_v_reduce;
			one_vector(operation, word);
		} else if (field(word, 17, 4) == 4) {
			if (bit(word, 28))
				sha(operation, word, false);
			else
				aes(operation, word);
		} else {
			two_misc(operation, word);
		}
	} else if (bit(word, 28) && !bit(word, 10)) {
		sha(operation, word, true);
	} else if (bit(word, 15)) {
		operation->class = CLASS_v_mlal; /* dot products and their like */
		two_vectors(operation, word);
		also_reads_result(operation, word, ROLE_ACCUMULATE);
	} else if (bit(word, 10)) {
		copy(operation, word);
	} else if (bit(word, 29)) {
		operation->class = CLASS_v_extract;
		two_vectors(operation, word);
	} else if (bit(word, 11)) {
		permute(operation, word);
	} else {
		table_lookup(operation, word);
	}
}

static void convert_integer(struct operation *operation, uint32_t word)
{
	unsigned int opcode = field(word, 16, 3);

	if (opcode == 7) { /* FMOV from a register of the core */
		operation->class = CLASS_v_from_core;
		reads(operation, field(word, 5, 5), ROLE_VALUE);
		writes_vector(operation, field(word, 0, 5));
	} else if (opcode == 2 || opcode == 3) {
		operation->class = CLASS_f_from_core;
		reads(operation, field(word, 5, 5), ROLE_VALUE);
		writes_vector(operation, field(word, 0, 5));
	} else {
		operation->class = opcode == 6 ? CLASS_v_to_core : CLASS_f_to_core;
		reads_vector(operation, field(word, 5, 5), ROLE_VALUE);
		writes(operation, field(word, 0, 5));
	}
}

static void float_one(struct operation *operation, uint32_t word)
{
	unsigned int opcode = field(word, 15, 6);

	if (opcode == 3)
		operation->class = bit(word, 22) ? CLASS_f_div64 : CLASS_f_div32;
	else
		operation->class = opcode < 3 ? CLASS_f_move : CLASS_f_convert;
	one_vector(operation, word);
}

static void float_two(struct operation *operation, uint32_t word)
{
	unsigned int opcode = field(word, 12, 4);

	if (opcode == 1)
		operation->class = bit(word, 22) ? CLASS_f_div64 : CLASS_f_div32;
	else if (opcode == 0 || opcode == 8)
		operation->class = CLASS_f_mul;
	else
		operation->class = opcode < 4 ? CLASS_f_add : CLASS_f_compare;
	two_vectors(operation, word);
}

static void float_compare(struct operation *operation, uint32_t word, bool conditional)
{
	operation->class = CLASS_f_compare;
	reads_vector(operation, field(word, 5, 5), ROLE_VALUE);
	reads_vector(operation, field(word, 16, 5), ROLE_VALUE);
	if (conditional)
		add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
	add_result(operation, REGISTER_FLAGS);
}

static void scalar_float(struct operation *operation, uint32_t word)
{
	if (bit(word, 24)) {
		operation->class = CLASS_f_mac;
		two_vectors(operation, word);
		reads_vector(operation, field(word, 10, 5), ROLE_ACCUMULATE);
	} else if (!bit(word, 21) || !field(word, 10, 6)) {
		convert_integer(operation, word);
	} else if (field(word, 10, 2) == 3) {
		operation->class = CLASS_f_move; /* FCSEL */
		two_vectors(operation, word);
		add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
	} else if (field(word, 10, 2) == 2) {
		float_two(operation, word);
	} else if (field(word, 10, 2) == 1) {
		float_compare(operation, word, true);
	} else if (field(word, 10, 5) == 16) {
		float_one(operation, word);
	} else if (field(word, 10, 4) == 8) {
		float_compare(operation, word, false);
	} else {
		operation->class = CLASS_f_move; /* an immediate */
		writes_vector(operation, field(word, 0, 5));
	}
}

/* SHA-512, SHA-3, SM3 and SM4: four operands at most. */
static void crypto(struct operation *operation, uint32_t word)
{
	unsigned int group = field(word, 21, 3);

	operation->wide = true;
	operation->class = group < 2 || group == 4 ? CLASS_sha3 : CLASS_sha512;
	if (group == 3 && bit(word, 15) && field(word, 10, 2) == 3)
		operation->class = CLASS_sha3; /* RAX1 */
	two_vectors(operation, word);
	if (group < 2)
		reads_vector(operation, field(word, 10, 5), ROLE_VALUE);
	else if (operation->class == CLASS_sha512)
		also_reads_result(operation, word, ROLE_VALUE);
}

void a64_vector(struct operation *operation, uint32_t word)
{
	if (field(word, 24, 8) == 0xce)
		crypto(operation, word);
	else if (bit(word, 28) && !bit(word, 30))
		scalar_float(operation, word);
	else if (!bit(word, 31))
		simd(operation, word);
}
