/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU shows a plugin of a machine of 64 bits no register of AArch32, and so no T bit. Nearly always the code says which
 * set it is of: T32 has instructions of two bytes, and its others begin with 0xe800 at least. If a block could be of
 * both, QEMU's disassembler says, which knows the T bit.
 */
#include "sets.h"

#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "../arm32/decode.h"

/* The first halfword of an instruction of T32 that has four bytes is this, or more. */
#define WIDE 0xe800u

static uint32_t first_half(const struct block *block, uint32_t number)
{
	const uint8_t *bytes = block->code + block->offsets[number];

	return bytes[0] | (uint32_t)bytes[1] << 8;
}

/* What a line of a disassembler does to the flow, with FLOW_CALL for each call and FLOW_RETURN for each other jump. */
static enum flow flow_of_text(const char *text)
{
	size_t name = strcspn(text, " \t");
	const char *operand = text + name + strspn(text + name, " \t");

	if (!strncmp(text, "svc", 3))
		return FLOW_TRAP;
	/* BL, BLX and BLEQ; BLS, BLT and BLE are branches. */
	if (!strncmp(text, "bl", 2) && (name != 3 || text[2] == 'x'))
		return FLOW_CALL;
	if (!strncmp(text, "bx", 2) || !strncmp(text, "tb", 2) || !strncmp(operand, "pc,", 3) || strstr(text, "pc}"))
		return FLOW_RETURN;
	return FLOW_PLAIN;
}

static bool is_of_kind(enum flow flow, enum flow kind)
{
	if (flow == FLOW_CALL_REGISTER)
		flow = FLOW_CALL;
	if (flow == FLOW_JUMP_REGISTER)
		flow = FLOW_RETURN;
	return flow == kind;
}

/* Whether what the disassembler says of an instruction agrees with this reading of it more than with the other one. */
static bool agrees(const char *text, const struct direction *with, const struct direction *other)
{
	enum flow kind = flow_of_text(text);
	const char *number = strchr(text, '#');
	bool does = is_of_kind(with->flow, kind);

	if (does != is_of_kind(other->flow, kind))
		return does;
	return number && with->target && strtoull(number + 1, NULL, 0) == with->target;
}

enum instruction_set set_of_32_bits(const struct block *block, const struct qemu_plugin_tb *translation)
{
	uint32_t last = block->instructions - 1;
	const uint8_t *bytes = block->code + block->offsets[last];
	uint64_t at = block->pc + block->offsets[last];
	struct direction a32;
	struct direction t32;
	bool is_a32;
	char *text;

	if (block->end - block->pc != INSTRUCTION_BYTES * (uint64_t)block->instructions ||
	    block->pc % INSTRUCTION_BYTES)
		return SET_T32;
	for (uint32_t i = 0; i < block->instructions; i++)
		if (first_half(block, i) < WIDE)
			return SET_A32;
	a32 = direction_of(SET_A32, bytes, at, false);
	t32 = direction_of(SET_T32, bytes, at, false);
	text = qemu_plugin_insn_disas(qemu_plugin_tb_get_insn(translation, last));
	is_a32 = text && agrees(text, &a32, &t32) && !agrees(text, &t32, &a32);
	g_free(text);
	return is_a32 ? SET_A32 : SET_T32;
}
