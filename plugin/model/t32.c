/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "t32.h"

#include <string.h>

#include "t32_table.h"

#define SP 13u
#define LR 14u
#define PC 15u

unsigned int t32_bytes(uint16_t first)
{
	return first >= 0xe800 ? 4 : 2;
}

const char *t32_class_name(enum t32_class class)
{
	static const char *const names[T32_CLASSES] = {
		[T32_UNKNOWN] = "unknown", [T32_ALU] = "alu",         [T32_SHIFT] = "shift",
		[T32_SHIFTED] = "shifted", [T32_DSP] = "dsp",         [T32_MUL] = "mul",
		[T32_MLA] = "mla",         [T32_MULL] = "mull",       [T32_MLAL] = "mlal",
		[T32_DIV] = "div",         [T32_LOAD] = "load",       [T32_STORE] = "store",
		[T32_LOADS] = "loads",     [T32_STORES] = "stores",   [T32_EXCLUSIVE] = "exclusive",
		[T32_BRANCH] = "branch",   [T32_CALL] = "call",       [T32_JUMP] = "jump",
		[T32_TABLE] = "table",     [T32_SYSTEM] = "system",   [T32_BARRIER] = "barrier",
		[T32_HINT] = "hint",       [T32_TRAP] = "trap",       [T32_FP] = "fp",
		[T32_FPMUL] = "fpmul",     [T32_FPMLA] = "fpmla",     [T32_FPDIV] = "fpdiv",
		[T32_FPMOVE] = "fpmove",   [T32_DOUBLE] = "fpdouble",
	};

	return names[class];
}

/* The register that a field names. */
static unsigned int field_register(uint32_t word, char field)
{
	switch (field) {
	case '0':
		return word & 7;
	case '3':
		return word >> 3 & 7;
	case '6':
		return word >> 6 & 7;
	case '8':
		return word >> 8 & 7;
	case 'h':
		return (word & 7) | (word >> 4 & 8);
	case 'H':
		return word >> 3 & 15;
	case 'N':
		return word >> 16 & 15;
	case 'D':
		return word >> 8 & 15;
	case 'T':
		return word >> 12 & 15;
	case 'M':
		return word & 15;
	case 'p':
		return SP;
	default:
		return LR;
	}
}

/* The mask of single registers that a floating field names. */
static uint32_t field_floats(uint32_t word, char field)
{
	unsigned int low = field == 'F' ? 12 : field == 'f' ? 16 : 0;
	unsigned int high = field == 'F' ? 22 : field == 'f' ? 7 : 5;
	unsigned int four = word >> low & 15;
	unsigned int one = word >> high & 1;

	if (word & 0x100)
		/* Registers d16 to d31 are on no core here; they say nothing. */
		return one ? 0 : 3u << (2 * four);
	return 1u << (four * 2 + one);
}

static void take_float(struct t32_op *op, char role, uint32_t mask)
{
	if (role == 'w')
		op->floats_written |= mask;
	else if (role == 'c')
		op->floats_sum |= mask;
	else
		op->floats |= mask;
}

static void take_register(struct t32_op *op, char role, unsigned int number)
{
	uint16_t mask = (uint16_t)(1u << number);

	switch (role) {
	case 'b':
		op->written |= mask;
		op->operands |= mask;
		break;
	case 'w':
		op->written |= mask;
		break;
	case 'a':
	case 'x':
		op->address |= mask;
		break;
	case 's':
		op->data |= mask;
		break;
	case 'c':
		op->sum |= mask;
		break;
	default:
		op->operands |= mask;
	}
}

/* The registers in the pairs of letters. Returns the properties behind them. */
static const char *take_operands(struct t32_op *op, uint32_t word, const char *text)
{
	for (; *text && *text != ','; text += 2) {
		if (strchr("Ffg", text[1]))
			take_float(op, text[0], field_floats(word, text[1]));
		else
			take_register(op, text[0], field_register(word, text[1]));
		if (op->class == T32_STORES && text[0] == 's')
			op->registers++;
		if (op->class == T32_LOADS && text[0] == 'w')
			op->registers++;
	}
	return *text ? text + 1 : text;
}

static unsigned int ones(uint32_t mask)
{
	unsigned int count = 0;

	for (; mask; mask &= mask - 1)
		count++;
	return count;
}

static void take_list(struct t32_op *op, uint32_t word)
{
	uint16_t list = (uint16_t)(op->bytes == 2 ? word & 0xff : word);

	/* PUSH has a bit for lr, POP one for pc. */
	if (op->bytes == 2 && (word & 0xf600) == 0xb400 && word & 0x100)
		list |= (uint16_t)(op->class == T32_STORES ? 1u << LR : 1u << PC);
	op->registers = (uint8_t)ones(list);
	if (op->class == T32_STORES) {
		op->data |= list;
		return;
	}
	op->written |= list;
	if (op->bytes == 2 && !(list & op->address))
		op->updates = true;
}

static void take_float_list(struct t32_op *op, uint32_t word)
{
	unsigned int count = word & 0xff;
	unsigned int first = word & 0x100 ? (word >> 12 & 15) * 2 : (word >> 12 & 15) * 2 + (word >> 22 & 1);

	op->registers = (uint8_t)count;
	for (unsigned int i = first; i < first + count && i < 32; i++)
		take_float(op, op->class == T32_LOADS ? 'w' : 'r', 1u << i);
}

static void take_property(struct t32_op *op, uint32_t word, char property)
{
	switch (property) {
	case '1':
	case '2':
	case '4':
		op->element = (uint8_t)(property - '0');
		break;
	case 'R':
		take_list(op, word);
		break;
	case 'V':
		take_float_list(op, word);
		break;
	case 'L':
		op->literal = true;
		break;
	case 'I':
		op->indexed = true;
		break;
	case 'f':
		op->reads_flags = true;
		break;
	case 'z':
		op->sets_flags = word >> 20 & 1;
		break;
	case 'Z':
		op->sets_flags = true;
		break;
	case 'S':
		if (word & 0x70f0)
			op->class = T32_SHIFTED;
		break;
	case 'W':
		op->updates = word >> 21 & 1;
		break;
	case 'w':
		op->updates = word >> 8 & 1;
		break;
	case 'U':
		op->updates = true;
		break;
	case '?':
		op->conditional = true;
		break;
	default:
		break;
	}
}

/* A constant of ADD and its like that is a rotated byte, not one in the lowest place nor one repeated. */
static bool is_rotated(const struct t32_op *op, uint32_t word)
{
	bool move = (word & 0x01cf0000) == 0x004f0000; /* MOV, MVN */

	return op->bytes == 4 && (word & 0xfa008000) == 0xf0000000 && word & 0x04004000 && !move;
}

/* What follows from the rest. */
static void complete(struct t32_op *op, uint32_t word)
{
	bool floating = (op->bytes == 4 && (word & 0xec000e00) == 0xec000a00);

	op->rotated = is_rotated(op, word);
	op->makes_conditional = op->bytes == 2 && (word & 0xff00) == 0xbf00 && word & 15;
	if (op->updates)
		op->written |= op->address;
	if (op->literal && floating)
		op->registers = word & 0x100 ? 2 : 1;
	else if (op->class == T32_LOAD || op->class == T32_STORE || op->class == T32_EXCLUSIVE)
		op->registers = floating && word & 0x100 ? 2 : 1;
	op->store = op->class == T32_STORE || op->class == T32_STORES || (op->class == T32_EXCLUSIVE && op->data);
	op->writes_pc = op->written >> PC & 1 || op->class == T32_BRANCH || op->class == T32_CALL ||
			op->class == T32_JUMP || op->class == T32_TABLE;
	if ((op->class == T32_ALU || op->class == T32_SHIFTED) && op->written >> PC & 1)
		op->class = T32_JUMP;
	if (op->class >= T32_FP && op->class <= T32_FPDIV && word & 0x100)
		op->class = T32_DOUBLE;
}

void t32_decode(const uint8_t *bytes, struct t32_op *op)
{
	uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8;
	bool wide = t32_bytes((uint16_t)word) == 4;
	const struct t32_encoding *table = wide ? t32_wide : t32_narrow;
	size_t count = wide ? t32_wide_count : t32_narrow_count;

	if (wide)
		word = word << 16 | bytes[2] | (uint32_t)bytes[3] << 8;
	memset(op, 0, sizeof(*op));
	op->bytes = wide ? 4 : 2;
	for (size_t i = 0; i < count; i++) {
		if ((word & table[i].mask) != table[i].value)
			continue;
		op->class = table[i].class;
		for (const char *p = take_operands(op, word, table[i].operands); *p; p++)
			take_property(op, word, *p);
		complete(op, word);
		return;
	}
}
