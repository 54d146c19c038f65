/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blocks.h"

#include <string.h>

#include <glib.h>

#include "../aarch64/functions.h"
#include "../aarch64/tables.h"
#include "../aarch64/trace.h"
#include "../model/operation.h"
#include "decode.h"

/* A decoder reads so many bytes, wherever an instruction ends. */
#define ROOM 4

static GHashTable *blocks;
static uint32_t last_id;

static size_t code_bytes(const struct flat_block *block)
{
	return (size_t)(block->block.end - block->block.pc);
}

static guint block_hash(gconstpointer key)
{
	const struct flat_block *block = key;

	return hash_pair(block->block.pc, block->block.instructions);
}

static gboolean block_equal(gconstpointer left, gconstpointer right)
{
	const struct flat_block *a = left;
	const struct flat_block *b = right;

	return a->block.pc == b->block.pc && a->block.instructions == b->block.instructions &&
	       a->block.end == b->block.end && !memcmp(a->block.code, b->block.code, code_bytes(a));
}

void blocks_start(void)
{
	blocks = g_hash_table_new(block_hash, block_equal);
}

/* The kept block of that content: the one that is given, or the one that was there, and then the given one is freed. */
static struct flat_block *keep(struct flat_block *block)
{
	struct flat_block *found = g_hash_table_lookup(blocks, block);

	if (!found) {
		g_hash_table_add(blocks, block);
		return block;
	}
	g_free(block->offsets);
	g_free(block->block.code);
	g_free(block);
	return found;
}

struct flat_block *flat_block_of(const struct qemu_plugin_tb *translation)
{
	size_t count = qemu_plugin_tb_n_insns(translation);
	struct flat_block *block = g_new0(struct flat_block, 1);

	block->block.pc = qemu_plugin_tb_vaddr(translation);
	block->block.instructions = (uint32_t)count;
	block->offsets = g_new0(uint32_t, count + 1);
	for (size_t i = 0; i < count; i++)
		block->offsets[i + 1] = block->offsets[i] +
					(uint32_t)qemu_plugin_insn_size(qemu_plugin_tb_get_insn(translation, i));
	block->block.end = block->block.pc + block->offsets[count];
	block->block.code = g_malloc0(code_bytes(block) + ROOM);
	for (size_t i = 0; i < count; i++)
		(void)qemu_plugin_insn_data(qemu_plugin_tb_get_insn(translation, i),
					    block->block.code + block->offsets[i],
					    block->offsets[i + 1] - block->offsets[i]);
	return keep(block);
}

void flat_block_decode(struct flat_block *block, enum instruction_set set)
{
	uint32_t last = block->block.instructions - 1;
	unsigned int if_then = 0;

	block->set = set;
	block->decoded = true;
	block->kinds = g_malloc0(block->block.instructions + (size_t)1);
	for (uint32_t i = 0; i <= last; i++) {
		const uint8_t *bytes = block->block.code + block->offsets[i];
		struct direction to = direction_of(set, bytes, block->block.pc + block->offsets[i], if_then > 0);

		if_then = if_then ? if_then - 1 : set == SET_T32 ? t32_if_then(bytes) : 0;
		block->kinds[i] = to.kind;
		block->stack += to.stack;
		block->deepest = MIN(block->deepest, block->stack);
		block->moves_stack |= to.moves_stack;
		if (i == last) {
			block->block.flow = to.flow;
			block->block.target = to.target;
		}
	}
	block->quiet = block->block.flow == FLOW_PLAIN && !block->deepest && !block->stack && !block->moves_stack;
	block->block.site = functions_site(block->block.pc + block->offsets[last]);
}

struct flat_block *flat_block_part(const struct flat_block *block, uint32_t instructions)
{
	struct flat_block *part = g_new0(struct flat_block, 1);

	part->block.pc = block->block.pc;
	part->block.instructions = instructions;
	part->block.end = block->block.pc + block->offsets[instructions];
	part->offsets = g_memdup2(block->offsets, (instructions + (size_t)1) * sizeof(*part->offsets));
	part->block.code = g_memdup2(block->block.code, code_bytes(part) + ROOM);
	part = keep(part);
	if (!part->decoded)
		flat_block_decode(part, block->set);
	return part;
}

uint32_t flat_block_before(const struct flat_block *block, uint64_t address)
{
	uint32_t before = 0;

	if (address < block->block.pc || address >= block->block.end)
		return block->block.instructions;
	while (block->block.pc + block->offsets[before] < address)
		before++;
	return before;
}

void block_write(struct block *block)
{
	const struct flat_block *flat = (const struct flat_block *)(const void *)block;
	struct json_object *record;

	if (block->id)
		return;
	block->id = ++last_id;
	record = record_new("block");
	record_number(record, "id", block->id);
	record_address(record, "pc", block->pc);
	record_number(record, "instructions", block->instructions);
	record_bytes(record, "code", block->code, code_bytes(flat));
	record_text(record, "set", flat->set == SET_T32 ? "t32" : "a32");
	record_text(record, "kinds", flat->kinds);
	record_write(record);
}

uint32_t blocks_written(void)
{
	return last_id;
}
