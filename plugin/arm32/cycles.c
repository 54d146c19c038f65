/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cycles.h"

#include <glib.h>

#include "../model/model.h"

void cycles_watch(struct qemu_plugin_tb *translation, const struct block *block)
{
	if (!cycles_cores)
		return;
	for (uint32_t i = 0; i < block->instructions; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translation, i);

		accesses_watch(instruction, qemu_plugin_insn_vaddr(instruction));
	}
}

/* Makes addresses of instructions to indexes in the block, and leaves out what is of none of its instructions. */
static size_t place_accesses(const struct flat_block *block)
{
	uint32_t index = 0;
	size_t left = 0;

	for (size_t i = 0; i < accesses_seen; i++) {
		uint32_t offset = accesses[i].instruction - (uint32_t)block->block.pc;

		if (offset >= block->offsets[block->block.instructions])
			continue;
		if (offset < block->offsets[index])
			index = 0;
		while (block->offsets[index] < offset)
			index++;
		accesses[left] = accesses[i];
		accesses[left++].instruction = index;
	}
	return left;
}

/* The first instructions of a block were executed; `spent` has room for each core. */
static void run(struct flat_block *block, uint32_t instructions, size_t count, uint64_t next, struct spent *spent)
{
	if (!block->block.decoded)
		block->block.decoded = code_decode(block->set, block->block.pc, block->block.code,
						   block->block.instructions);
	for (size_t i = 0; i < cycles_cores; i++)
		model_run(models[i], block->block.decoded, instructions, accesses, count, next, &spent[i]);
	accesses_seen = 0;
}

void cycles_run_models(struct slot *slot, uint64_t next)
{
	struct flat_block *block = (struct flat_block *)(void *)slot->block;

	if (!slot->spent)
		slot->spent = g_new0(struct spent, cycles_cores);
	run(block, block->block.instructions, place_accesses(block), next, slot->spent);
}

void cycles_pass_by(struct flat_block *block, uint64_t next, bool whole)
{
	struct spent dropped[MAX_CORES] = { { .outside = 0 } };
	size_t count = place_accesses(block);
	uint32_t executed = whole ? block->block.instructions : flat_block_before(block, next);

	/* An exception in the midst of it: what that hit is not known better than by the last access. */
	if (!whole && (!executed || executed == block->block.instructions))
		executed = count ? accesses[count - 1].instruction + 1 : 1;
	run(block, executed, count, next, dropped);
}

void cycles_flush(uint32_t pass, struct slot *const *slots, size_t count)
{
	cores_flush(pass, slots, count, NULL);
}
