/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A32: vectors and floating point (Arm ARM for Armv7-A, A7.4 to A7.9), by the classes of A64. */
#include "build.h"

static unsigned int register_d(uint32_t word)
{
	return bit(word, 22) << 4 | field(word, 12, 4);
}

static unsigned int register_n(uint32_t word)
{
	return bit(word, 7) << 4 | field(word, 16, 4);
}

static unsigned int register_m(uint32_t word)
{
	return bit(word, 5) << 4 | field(word, 0, 4);
}

/* One of 64 bits, or with `quad` two in a row. */
static void reads_registers(struct operation *operation, unsigned int number, bool quad, enum role role)
{
	for (unsigned int i = 0; i <= quad; i++)
		reads_vector(operation, (number + i) % 32, role);
}

static void writes_registers(struct operation *operation, unsigned int number, bool quad)
{
	for (unsigned int i = 0; i <= quad; i++)
		writes_vector(operation, (number + i) % 32);
}

static bool adds_to_result(enum operation_class class)
{
	return class == CLASS_v_mla || class == CLASS_v_mlal || class == CLASS_f_mac || class == CLASS_v_absdiff_acc ||
	       class == CLASS_v_pairwise_acc || class == CLASS_v_shift_acc;
}

static enum operation_class logic(uint32_t word)
{
	if (bit(word, 24))
		return field(word, 20, 2) ? CLASS_v_select : CLASS_v_logic;
	return field(word, 20, 2) == 2 && register_n(word) == register_m(word) ? CLASS_v_move : CLASS_v_logic;
}

/* By bits 11 to 8 and 4, and U. */
static enum operation_class same_class(uint32_t word)
{
	static const uint8_t classes[2][32] = {
		{ CLASS_v_add,         CLASS_v_saturate,  CLASS_v_add,     CLASS_v_logic,     CLASS_v_add,
		  CLASS_v_saturate,    CLASS_v_compare,   CLASS_v_compare, CLASS_v_shift_reg, CLASS_v_shift_reg,
		  CLASS_v_shift_reg,   CLASS_v_shift_reg, CLASS_v_minmax,  CLASS_v_minmax,    CLASS_v_absdiff,
		  CLASS_v_absdiff_acc, CLASS_v_add,       CLASS_v_compare, CLASS_v_mla,       CLASS_v_mul,
		  CLASS_v_pairwise,    CLASS_v_pairwise,  CLASS_v_mulh,    CLASS_v_pairwise,  CLASS_unknown,
		  CLASS_f_mac,         CLASS_f_add,       CLASS_f_mac,     CLASS_f_compare,   CLASS_unknown,
		  CLASS_f_compare,     CLASS_f_mul },
		{ CLASS_v_add,         CLASS_v_saturate,  CLASS_v_add,     CLASS_v_logic,     CLASS_v_add,
		  CLASS_v_saturate,    CLASS_v_compare,   CLASS_v_compare, CLASS_v_shift_reg, CLASS_v_shift_reg,
		  CLASS_v_shift_reg,   CLASS_v_shift_reg, CLASS_v_minmax,  CLASS_v_minmax,    CLASS_v_absdiff,
		  CLASS_v_absdiff_acc, CLASS_v_add,       CLASS_v_compare, CLASS_v_mla,       CLASS_v_pmull,
		  CLASS_v_pairwise,    CLASS_v_pairwise,  CLASS_v_mulh,    CLASS_unknown,     CLASS_unknown,
		  CLASS_unknown,       CLASS_f_add,       CLASS_f_mul,     CLASS_f_compare,   CLASS_f_compare,
		  CLASS_f_compare,     CLASS_unknown },
	};
	unsigned int at = field(word, 8, 4) << 1 | bit(word, 4);

	return at == 3 ? logic(word) : (enum operation_class)classes[bit(word, 24)][at];
}

static void three_same(struct operation *operation, uint32_t word)
{
	bool quad = bit(word, 6);
	enum operation_class class = same_class(word);

	operation->class = (uint8_t)class;
	operation->wide = quad;
	if (class == CLASS_unknown)
		return;
	if (class != CLASS_v_move)
		reads_registers(operation, register_n(word), quad, ROLE_VALUE);
	reads_registers(operation, register_m(word), quad, ROLE_VALUE);
	if (class == CLASS_v_select)
		reads_registers(operation, register_d(word), quad, ROLE_VALUE);
	else if (adds_to_result(class))
		reads_registers(operation, register_d(word), quad, ROLE_ACCUMULATE);
	writes_registers(operation, register_d(word), quad);
}

static void three_different(struct operation *operation, uint32_t word)
{
	static const uint8_t classes[16] = {
		CLASS_v_long,        CLASS_v_long,        CLASS_v_long,        CLASS_v_long,
		CLASS_v_high_narrow, CLASS_v_absdiff_acc, CLASS_v_high_narrow, CLASS_v_absdiff,
		CLASS_v_mlal,        CLASS_v_mlal,        CLASS_v_mlal,        CLASS_v_mlal,
		CLASS_v_mull,        CLASS_v_mull,        CLASS_v_pmull,       CLASS_unknown,
	};
	unsigned int kind = field(word, 8, 4);
	bool narrows = kind == 4 || kind == 6;

	operation->class = classes[kind];
	operation->wide = true;
	if (kind == 15)
		return;
	reads_registers(operation, register_n(word), narrows || kind == 1 || kind == 3, ROLE_VALUE);
	reads_registers(operation, register_m(word), narrows, ROLE_VALUE);
	if (adds_to_result((enum operation_class)operation->class))
		reads_registers(operation, register_d(word), true, ROLE_ACCUMULATE);
	writes_registers(operation, register_d(word), !narrows);
}

static void by_scalar(struct operation *operation, uint32_t word)
{
	static const uint8_t classes[16] = {
		CLASS_v_mla,  CLASS_f_mac,  CLASS_v_mlal,  CLASS_v_mlal,  CLASS_v_mla,  CLASS_f_mac,
		CLASS_v_mlal, CLASS_v_mlal, CLASS_v_mul,   CLASS_f_mul,   CLASS_v_mull, CLASS_v_mull,
		CLASS_v_mulh, CLASS_v_mulh, CLASS_unknown, CLASS_unknown,
	};
	unsigned int scalar = field(word, 0, field(word, 20, 2) == 1 ? 3 : 4);
	bool widens;

	operation->class = classes[field(word, 8, 4)];
	widens = operation->class == CLASS_v_mlal || operation->class == CLASS_v_mull;
	operation->wide = widens || bit(word, 24);
	if (operation->class == CLASS_unknown)
		return;
	reads_registers(operation, register_n(word), !widens && bit(word, 24), ROLE_VALUE);
	reads_registers(operation, scalar, false, ROLE_VALUE);
	if (adds_to_result((enum operation_class)operation->class))
		reads_registers(operation, register_d(word), operation->wide, ROLE_ACCUMULATE);
	writes_registers(operation, register_d(word), operation->wide);
}

static enum operation_class shift_class(unsigned int kind, bool u)
{
	static const uint8_t classes[16] = {
		CLASS_v_shift_imm,    CLASS_v_shift_acc, CLASS_v_shift_imm,  CLASS_v_shift_acc,
		CLASS_v_shift_insert, CLASS_v_shift_imm, CLASS_v_saturate,   CLASS_v_saturate,
		CLASS_v_shift_narrow, CLASS_v_saturate,  CLASS_v_shift_long, CLASS_unknown,
		CLASS_unknown,        CLASS_unknown,     CLASS_f_convert,    CLASS_f_convert,
	};

	if (u && kind == 5)
		return CLASS_v_shift_insert;
	if (u && kind == 8)
		return CLASS_v_saturate;
	return (enum operation_class)classes[kind];
}

static void shift(struct operation *operation, uint32_t word)
{
	unsigned int kind = field(word, 8, 4);
	bool narrows = kind == 8 || kind == 9;
	bool widens = kind == 10;
	bool quad = bit(word, 6) && !narrows && !widens;

	operation->class = (uint8_t)shift_class(kind, bit(word, 24));
	operation->wide = quad || narrows || widens;
	if (operation->class == CLASS_unknown)
		return;
	reads_registers(operation, register_m(word), quad || narrows, ROLE_VALUE);
	if (operation->class == CLASS_v_shift_acc)
		reads_registers(operation, register_d(word), quad, ROLE_ACCUMULATE);
	else if (operation->class == CLASS_v_shift_insert)
		reads_registers(operation, register_d(word), quad, ROLE_VALUE);
	writes_registers(operation, register_d(word), quad || widens);
}

static void constant(struct operation *operation, uint32_t word)
{
	unsigned int mode = field(word, 8, 4);

	operation->wide = bit(word, 6);
	operation->class = CLASS_v_immediate;
	if (mode < 12 && mode % 2) { /* VORR, VBIC */
		operation->class = CLASS_v_logic;
		reads_registers(operation, register_d(word), bit(word, 6), ROLE_VALUE);
	}
	writes_registers(operation, register_d(word), bit(word, 6));
}

static enum operation_class misc_class(unsigned int group, unsigned int kind, bool second)
{
	static const uint8_t classes[4][16] = {
		{ CLASS_v_reverse, CLASS_v_reverse, CLASS_v_reverse, CLASS_unknown, CLASS_v_pairwise_long,
		  CLASS_v_pairwise_long, CLASS_unknown, CLASS_unknown, CLASS_v_count, CLASS_v_count, CLASS_v_count,
		  CLASS_v_logic, CLASS_v_pairwise_acc, CLASS_v_pairwise_acc, CLASS_v_saturate, CLASS_v_saturate },
		{ CLASS_v_compare, CLASS_v_compare, CLASS_v_compare, CLASS_v_compare, CLASS_v_compare, CLASS_unknown,
		  CLASS_v_abs, CLASS_v_abs, CLASS_f_compare, CLASS_f_compare, CLASS_f_compare, CLASS_f_compare,
		  CLASS_f_compare, CLASS_unknown, CLASS_f_move, CLASS_f_move },
		{ CLASS_v_trn, CLASS_v_trn, CLASS_v_zip, CLASS_v_zip, CLASS_v_narrow, CLASS_v_saturate,
		  CLASS_v_shift_long, CLASS_unknown, CLASS_unknown, CLASS_unknown, CLASS_unknown, CLASS_unknown,
		  CLASS_f_convert, CLASS_unknown, CLASS_f_convert, CLASS_unknown },
		{ CLASS_unknown, CLASS_unknown, CLASS_unknown, CLASS_unknown, CLASS_unknown, CLASS_unknown,
		  CLASS_unknown, CLASS_unknown, CLASS_f_convert, CLASS_f_convert, CLASS_f_convert, CLASS_f_convert,
		  CLASS_f_convert, CLASS_f_convert, CLASS_f_convert, CLASS_f_convert },
	};

	if (group == 2 && kind == 4 && second)
		return CLASS_v_saturate; /* VQMOVUN */
	return (enum operation_class)classes[group][kind];
}

static void two_misc(struct operation *operation, uint32_t word)
{
	unsigned int group = field(word, 16, 2);
	unsigned int kind = field(word, 7, 4);
	bool both = group == 2 && kind < 4;
	bool narrows = group == 2 && (kind == 4 || kind == 5 || kind == 12);
	bool widens = group == 2 && (kind == 6 || kind == 14);
	bool quad = bit(word, 6) && !narrows && !widens;

	operation->class = (uint8_t)misc_class(group, kind, bit(word, 6));
	operation->wide = quad || narrows || widens;
	if (operation->class == CLASS_unknown)
		return;
	reads_registers(operation, register_m(word), quad || narrows, ROLE_VALUE);
	if (both)
		reads_registers(operation, register_d(word), quad, ROLE_VALUE);
	else if (operation->class == CLASS_v_pairwise_acc)
		reads_registers(operation, register_d(word), quad, ROLE_ACCUMULATE);
	writes_registers(operation, register_d(word), quad || widens);
	if (both)
		writes_registers(operation, register_m(word), quad);
}

static void table_lookup(struct operation *operation, uint32_t word)
{
	operation->class = CLASS_v_table;
	for (unsigned int i = 0; i <= field(word, 8, 2); i++)
		reads_registers(operation, register_n(word) + i, false, ROLE_VALUE);
	reads_registers(operation, register_m(word), false, ROLE_VALUE);
	if (bit(word, 6)) /* VTBX */
		reads_registers(operation, register_d(word), false, ROLE_VALUE);
	writes_registers(operation, register_d(word), false);
}

static void extract(struct operation *operation, uint32_t word)
{
	bool quad = bit(word, 6);

	operation->class = CLASS_v_extract;
	operation->wide = quad;
	reads_registers(operation, register_n(word), quad, ROLE_VALUE);
	reads_registers(operation, register_m(word), quad, ROLE_VALUE);
	writes_registers(operation, register_d(word), quad);
}

static void duplicate(struct operation *operation, uint32_t word)
{
	operation->class = CLASS_v_dup;
	operation->wide = bit(word, 6);
	reads_registers(operation, register_m(word), false, ROLE_VALUE);
	writes_registers(operation, register_d(word), bit(word, 6));
}

void a32_vector(struct operation *operation, uint32_t word)
{
	if (!bit(word, 23))
		three_same(operation, word);
	else if (bit(word, 4) && !field(word, 19, 3) && !bit(word, 7))
		constant(operation, word);
	else if (bit(word, 4))
		shift(operation, word);
	else if (field(word, 20, 2) != 3 && !bit(word, 6))
		three_different(operation, word);
	else if (field(word, 20, 2) != 3)
		by_scalar(operation, word);
	else if (!bit(word, 24))
		extract(operation, word);
	else if (!bit(word, 11))
		two_misc(operation, word);
	else if (!bit(word, 10))
		table_lookup(operation, word);
	else if (field(word, 7, 3) == 0)
		duplicate(operation, word);
}

/* --- loads and stores of structures --- */

static void write_back(struct operation *operation, uint32_t word)
{
	unsigned int index = field(word, 0, 4);

	reads_core(operation, field(word, 16, 4), ROLE_ADDRESS);
	if (index == 15)
		return;
	if (index != 13)
		reads_core(operation, index, ROLE_ADDRESS);
	writes_back_core(operation, field(word, 16, 4));
}

static void moves_vector(struct operation *operation, unsigned int number)
{
	if (operation->store)
		reads_registers(operation, number % 32, false, ROLE_DATA);
	else
		writes_registers(operation, number % 32, false);
}

static void lanes(struct operation *operation, uint32_t word)
{
	unsigned int size = field(word, 10, 2);
	unsigned int count = field(word, 8, 2) + 1;
	bool all = size == 3;
	bool apart = count > 1 && (all ? bit(word, 5) : size == 1 ? bit(word, 5) : size == 2 && bit(word, 6));

	operation->class = operation->store ? CLASS_vstore_lane : CLASS_vload_lane;
	if (all && count == 1 && bit(word, 5))
		count = 2;
	operation->moves = (uint8_t)count;
	for (unsigned int i = 0; i < count; i++) {
		unsigned int number = register_d(word) + i * (1 + apart);

		moves_vector(operation, number);
		if (!operation->store && !all)
			reads_registers(operation, number % 32, false, ROLE_VALUE);
	}
}

void a32_structures(struct operation *operation, uint32_t word)
{
	static const uint8_t registers[16] = { 4, 4, 4, 4, 3, 3, 3, 1, 2, 2, 2 };
	unsigned int kind = field(word, 8, 4);
	bool plain = kind == 2 || kind == 6 || kind == 7 || kind == 10;
	bool apart = kind == 1 || kind == 5 || kind == 9;

	operation->store = !bit(word, 21);
	if (bit(word, 23)) {
		lanes(operation, word);
	} else {
		operation->moves = registers[kind];
		if (!operation->moves)
			return;
		if (operation->store)
			operation->class = plain ? CLASS_vstore_multi : CLASS_vstore_struct;
		else
			operation->class = plain ? CLASS_vload_multi : CLASS_vload_struct;
		for (unsigned int i = 0; i < operation->moves; i++)
			moves_vector(operation, register_d(word) + i * (1 + apart));
	}
	write_back(operation, word);
}

/* --- floating point --- */

/* A register of a floating-point instruction: of 64 bits, or half of one. */
static unsigned int double_or_half(unsigned int number, bool is_double)
{
	return is_double ? number : number & 15;
}

static void compare(struct operation *operation, uint32_t word, bool is_double)
{
	operation->class = CLASS_f_compare;
	reads_registers(operation, double_or_half(register_d(word), is_double), false, ROLE_VALUE);
	if (!bit(word, 16)) /* with zero */
		reads_registers(operation, double_or_half(register_m(word), is_double), false, ROLE_VALUE);
	add_result(operation, REGISTER_FLOAT_FLAGS);
}

static void one_operand(struct operation *operation, uint32_t word, bool is_double)
{
	unsigned int kind = field(word, 16, 4);
	bool to_other = kind == 7 || kind == 12 || kind == 13; /* the result has the other size, or 32 bits */
	bool wide_result = to_other ? kind == 7 && !is_double : is_double;
	bool wide_operand = is_double && kind != 8;

	if (!bit(word, 6)) {
		operation->class = CLASS_f_move; /* a constant */
		writes_registers(operation, double_or_half(register_d(word), is_double), false);
		return;
	}
	if (kind == 4 || kind == 5) {
		compare(operation, word, is_double);
		return;
	}
	operation->class = kind < 2 ? CLASS_f_move : CLASS_f_convert;
	if (kind == 1 && bit(word, 7)) /* VSQRT */
		operation->class = is_double ? CLASS_f_div64 : CLASS_f_div32;
	if (kind == 10 || kind == 11 || kind >= 14) /* fixed point: in place */
		reads_registers(operation, double_or_half(register_d(word), is_double), false, ROLE_VALUE);
	else
		reads_registers(operation, double_or_half(register_m(word), wide_operand), false, ROLE_VALUE);
	writes_registers(operation, double_or_half(register_d(word), wide_result), false);
}

static void arithmetic(struct operation *operation, uint32_t word)
{
	static const uint8_t classes[8] = { CLASS_f_mac,   CLASS_f_mac, CLASS_f_mul, CLASS_f_add,
					    CLASS_f_div32, CLASS_f_mac, CLASS_f_mac, CLASS_unknown };
	unsigned int kind = bit(word, 23) << 2 | field(word, 20, 2);
	bool is_double = bit(word, 8);

	if (kind == 7) {
		one_operand(operation, word, is_double);
		return;
	}
	operation->class = classes[kind];
	if (kind == 4 && is_double)
		operation->class = CLASS_f_div64;
	operation->wide = is_double && operation->class != CLASS_f_add; /* an addition takes as long */
	reads_registers(operation, double_or_half(register_n(word), is_double), false, ROLE_VALUE);
	reads_registers(operation, double_or_half(register_m(word), is_double), false, ROLE_VALUE);
	if (operation->class == CLASS_f_mac)
		reads_registers(operation, double_or_half(register_d(word), is_double), false, ROLE_ACCUMULATE);
	writes_registers(operation, double_or_half(register_d(word), is_double), false);
}

/* VMRS, VMSR. */
static void status(struct operation *operation, uint32_t word)
{
	bool flags = bit(word, 20) && field(word, 12, 4) == 15;

	operation->class = field(word, 16, 4) == 1 ? CLASS_f_flags : CLASS_system;
	if (bit(word, 20)) {
		add_source(operation, REGISTER_FLOAT_FLAGS, ROLE_VALUE);
		if (flags)
			add_result(operation, REGISTER_FLAGS);
		else
			writes_core(operation, field(word, 12, 4));
	} else {
		reads_core(operation, field(word, 12, 4), ROLE_VALUE);
		add_result(operation, REGISTER_FLOAT_FLAGS);
	}
}

/* One register of the core, and one of the vectors or a part of it. */
static void transfer(struct operation *operation, uint32_t word)
{
	bool of_double = bit(word, 8);
	unsigned int core = field(word, 12, 4);
	unsigned int number = double_or_half(register_n(word), of_double);

	if (!of_double && field(word, 21, 3) == 7) {
		status(operation, word);
	} else if (bit(word, 20)) {
		operation->class = CLASS_v_to_core;
		reads_registers(operation, number, false, ROLE_VALUE);
		writes_core(operation, core);
	} else {
		bool all = of_double && bit(word, 23); /* VDUP */
		bool quad = all && bit(word, 21);

		operation->class = of_double && !all ? CLASS_v_insert_core : CLASS_v_from_core;
		operation->wide = quad;
		reads_core(operation, core, ROLE_VALUE);
		if (of_double && !all)
			reads_registers(operation, number, false, ROLE_VALUE);
		writes_registers(operation, number, quad);
	}
}

/* Two registers of the core, and one of 64 bits or two of 32. */
static void transfer_two(struct operation *operation, uint32_t word)
{
	bool of_double = bit(word, 8);
	unsigned int number = double_or_half(register_m(word), of_double);
	bool next = !of_double && bit(word, 5); /* two halves of two registers */

	operation->class = bit(word, 20) ? CLASS_v_to_core : CLASS_v_from_core;
	if (bit(word, 20)) {
		reads_registers(operation, number, next, ROLE_VALUE);
		writes_core(operation, field(word, 12, 4));
		writes_core(operation, field(word, 16, 4));
	} else {
		reads_core(operation, field(word, 12, 4), ROLE_VALUE);
		reads_core(operation, field(word, 16, 4), ROLE_VALUE);
		writes_registers(operation, number, next);
	}
}

static void memory(struct operation *operation, uint32_t word)
{
	bool single = bit(word, 24) && !bit(word, 21); /* VLDR, VSTR */
	bool of_double = bit(word, 8);
	unsigned int first = double_or_half(register_d(word), of_double);
	unsigned int half = !of_double && bit(word, 22);
	unsigned int words = field(word, 0, 8);
	unsigned int count = single ? 1 : of_double ? words / 2 : (half + words + 1) / 2;

	operation->store = !bit(word, 20);
	if (single)
		operation->class = operation->store ? CLASS_vstore : CLASS_vload;
	else
		operation->class = operation->store ? CLASS_vstore_multi : CLASS_vload_multi;
	operation->moves = (uint8_t)(count > 16 ? 16 : count);
	for (unsigned int i = 0; i < operation->moves; i++)
		moves_vector(operation, first + i);
	reads_core(operation, field(word, 16, 4), ROLE_ADDRESS);
	if (!single && bit(word, 21))
		writes_back_core(operation, field(word, 16, 4));
}

void a32_float(struct operation *operation, uint32_t word)
{
	if ((word & 0x0fe00000u) == 0x0c400000u)
		transfer_two(operation, word);
	else if (field(word, 25, 3) == 6)
		memory(operation, word);
	else if (bit(word, 4))
		transfer(operation, word);
	else
		arithmetic(operation, word);
}
