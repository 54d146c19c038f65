/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blocks.h"

#include <stddef.h>
#include <string.h>

#include <glib.h>

#include "../arm32/decode.h"
#include "../model/operation.h"
#include "arguments.h"
#include "functions.h"
#include "kinds.h"
#include "labels.h"
#include "processor.h"
#include "sets.h"
#include "tables.h"
#include "trace.h"

/* A decoder reads so many bytes, wherever an instruction ends. */
#define ROOM 4

static GHashTable *blocks;
static GHashTable *behind_reads; /* addresses behind an mrs of the counter */
static uint32_t last_id;

static size_t code_bytes(const struct block *block)
{
	return block_offset(block, block->instructions);
}

static guint block_hash(gconstpointer key)
{
	const struct block *block = key;

	return hash_pair(block->pc, block->instructions);
}

static gboolean block_equal(gconstpointer left, gconstpointer right)
{
	const struct block *a = left;
	const struct block *b = right;

	return a->pc == b->pc && a->instructions == b->instructions && a->end == b->end && a->set == b->set &&
	       !memcmp(a->code, b->code, code_bytes(a));
}

void blocks_start(void)
{
	blocks = g_hash_table_new(block_hash, block_equal);
	behind_reads = g_hash_table_new(g_direct_hash, g_direct_equal);
}

/* The kept block of that content: a copy of `block` if there was none. */
static struct block *keep(const struct block *block)
{
	struct block *found = g_hash_table_lookup(blocks, block);

	if (!found) {
		found = g_new(struct block, 1);
		*found = *block;
		found->code = g_malloc0(code_bytes(block) + ROOM);
		memcpy(found->code, block->code, code_bytes(block));
		if (block->offsets)
			found->offsets = g_memdup2(block->offsets,
						   (block->instructions + (size_t)1) * sizeof(*block->offsets));
		g_hash_table_add(blocks, found);
	}
	return found;
}

struct block *block_part(const struct block *block, uint32_t instructions)
{
	struct block part = { .pc = block->pc,
			      .end = block->pc + block_offset(block, instructions),
			      .instructions = instructions,
			      .set = block->set,
			      .code = block->code,
			      .offsets = block->offsets };

	return keep(&part);
}

uint64_t block_before(const struct block *block, uint64_t offset)
{
	uint32_t before = 0;

	if (!block->offsets)
		return offset / INSTRUCTION_BYTES;
	while (before < block->instructions && block->offsets[before] < offset)
		before++;
	return before;
}

/* The instruction behind an mrs, from the host's view of the page; 0 if it cannot be seen. */
static uint32_t word_behind(const struct qemu_plugin_insn *instruction)
{
	const uint8_t *host = qemu_plugin_insn_haddr(instruction);
	uint64_t address = qemu_plugin_insn_vaddr(instruction);

	if (!host)
		return 0;
	if (address % PAGE_BYTES == PAGE_BYTES - INSTRUCTION_BYTES) {
		trace_give_up("a mark crosses a page", address);
		return 0;
	}
	return decode_word(host + INSTRUCTION_BYTES);
}

static enum hook hook_at(uint64_t address)
{
	if (address == arguments.task_switch)
		return HOOK_TASK_SWITCH;
	if (address == arguments.task_name)
		return HOOK_TASK_NAME;
	if (address == arguments.thread_suspend)
		return HOOK_THREAD_SUSPEND;
	if (address == arguments.thread_resume)
		return HOOK_THREAD_RESUME;
	return HOOK_NONE;
}

/* 1 + which of OP-TEE's system calls for other TAs is there, in the order of their regions; 0 if none is. */
static unsigned int ta_call_at(uint64_t address)
{
	const uint64_t places[] = { arguments.ta_opens, arguments.ta_invokes, arguments.ta_closes };

	for (unsigned int i = 0; arguments.ta_calls && i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i] == address)
			return i + 1;
	return 0;
}

/* 1 + the number of the function there whose calls are regions; 0 if there is none. */
static unsigned int call_at(uint64_t address)
{
	for (unsigned int i = 0; i < arguments.calls_count; i++)
		if (arguments.calls[i] == address)
			return i + 1;
	return 0;
}

/* What an instruction of a block does to the stack pointer, which is `at` bytes off where it was at the begin. */
static void read_stack(struct block *block, uint32_t word, int32_t *at)
{
	int32_t adds;
	bool unknown;

	if (block->moves_stack || !decode_moves_stack(word, &adds, &unknown))
		return;
	block->moves_stack = unknown;
	*at += unknown ? 0 : adds;
	if (*at < block->deepest)
		block->deepest = *at;
}

/* Notes whether an instruction of a block, the last one or not, is a write of the masks. */
static void read_masks(struct block *block, uint32_t word, bool last)
{
	if (!decode_writes_masks(word))
		return;
	block->masks = true;
	/* QEMU ends a block there, to look for interrupts. */
	if (!last)
		trace_give_up("interrupts are masked within a block", block->pc);
}

/* Reads a block's code, and where in it a region begins. Returns its last instruction. */
static uint32_t read_code(struct block *block, const struct qemu_plugin_tb *translation)
{
	uint32_t word = 0;
	int32_t stack = 0;

	for (size_t i = 0; i < block->instructions; i++) {
		uint8_t *bytes = block->code + INSTRUCTION_BYTES * i;

		if (qemu_plugin_insn_data(qemu_plugin_tb_get_insn(translation, i), bytes, INSTRUCTION_BYTES) !=
		    INSTRUCTION_BYTES)
			trace_give_up("an instruction of another size than four bytes", block->pc);
		word = decode_word(bytes);
		read_masks(block, word, i + 1 == block->instructions);
		if (arguments.watches)
			read_stack(block, word, &stack);
		/* hint, isb, mrs */
		if (decode_is_begin(word))
			block->begins_at = block->pc + INSTRUCTION_BYTES * (uint64_t)(i + 2);
	}
	return word;
}

/* Each instruction of a block of A32 or T32, as its own decoder has it. */
static struct direction direction_in(const struct block *block, uint32_t number, unsigned int *if_then)
{
	const uint8_t *bytes = block->code + block_offset(block, number);
	struct direction to = direction_of(block->set, bytes, block->pc + block_offset(block, number), *if_then > 0);

	*if_then = *if_then ? *if_then - 1 : block->set == SET_T32 ? t32_if_then(bytes) : 0;
	return to;
}

/* Reads the code of a block of A32 or T32, which only programs of EL0 are of: no mark of the bench and no mask is there. */
static void read_code_of_32_bits(struct block *block, const struct qemu_plugin_tb *translation)
{
	unsigned int if_then = 0;

	block->offsets = g_new0(uint32_t, block->instructions + (size_t)1);
	for (uint32_t i = 0; i < block->instructions; i++)
		block->offsets[i + 1] = block->offsets[i] +
					(uint32_t)qemu_plugin_insn_size(qemu_plugin_tb_get_insn(translation, i));
	block->end = block->pc + code_bytes(block);
	block->code = g_malloc0(code_bytes(block) + ROOM);
	for (uint32_t i = 0; i < block->instructions; i++)
		(void)qemu_plugin_insn_data(qemu_plugin_tb_get_insn(translation, i), block->code + block->offsets[i],
					    block->offsets[i + 1] - block->offsets[i]);
	block->set = set_of_32_bits(block, translation);
	for (uint32_t i = 0; i < block->instructions; i++) {
		struct direction to = direction_in(block, i, &if_then);

		block->flow = to.flow;
		block->target = to.target;
		block->narrow = to.bytes == 2;
	}
	/* No address of its stack is known, so nothing is said of that. */
	block->moves_stack = true;
}

/* The same of A64, and what begins, ends or is read there. */
static void read_code_of_64_bits(struct block *block, const struct qemu_plugin_tb *translation)
{
	uint32_t last;

	block->end = block->pc + code_bytes(block);
	block->code = g_malloc0(code_bytes(block) + ROOM);
	last = read_code(block, translation);
	block->flow = decode_flow(last, block_last(block), &block->target);
	block->masks = block->masks || block->flow == FLOW_ERET;
	if (block->instructions == 1 && decode_reads_counter(last)) {
		block->reads = true;
		g_hash_table_add(behind_reads, as_pointer(block->end));
		block->reads_to = decode_destination(last);
		block->ends = decode_is_end(word_behind(qemu_plugin_tb_get_insn(translation, 0)));
	}
}

struct block *block_of_translation(const struct qemu_plugin_tb *translation)
{
	struct block block = { .pc = qemu_plugin_tb_vaddr(translation),
			       .instructions = (uint32_t)qemu_plugin_tb_n_insns(translation) };
	struct block *kept;

	if (processor_is_of_32_bits(block.pc))
		read_code_of_32_bits(&block, translation);
	else
		read_code_of_64_bits(&block, translation);
	block.site = functions_site(block_last(&block));
	block.vector = block.pc % VECTOR_ALIGNMENT ? VECTOR_NO : VECTOR_MAYBE;
	block.hook = hook_at(block.pc);
	block.call = call_at(block.pc);
	block.ta_call = ta_call_at(block.pc);
	block.heap = heap_function_at(block.pc);
	block.label = labels_at(block.pc, false);
	block.enters = arguments.entry && block.pc == arguments.entry;
	kept = keep(&block);
	g_free(block.code);
	g_free(block.offsets);
	return kept;
}

bool block_is_behind_read(const struct block *block)
{
	return g_hash_table_contains(behind_reads, as_pointer(block->pc));
}

bool block_find_vector(struct block *block)
{
	block->vector = processor_has_vector(block->pc) ? VECTOR_YES : VECTOR_NO;
	return block->vector == VECTOR_YES;
}

void block_write(struct block *block)
{
	struct json_object *record;
	unsigned int if_then = 0;
	char *kinds;

	if (block->id)
		return;
	block->id = ++last_id;
	record = record_new("block");
	record_number(record, "id", block->id);
	record_address(record, "pc", block->pc);
	record_number(record, "instructions", block->instructions);
	record_bytes(record, "code", block->code, code_bytes(block));
	if (block->set != SET_A64)
		record_text(record, "set", block->set == SET_T32 ? "t32" : "a32");
	kinds = g_malloc0(block->instructions + (size_t)1);
	for (uint32_t i = 0; i < block->instructions; i++) {
		if (block->set == SET_A64)
			kinds[i] = kind_of_a64(decode_word(block->code + block_offset(block, i)));
		else
			kinds[i] = direction_in(block, i, &if_then).kind;
	}
	record_text(record, "kinds", kinds);
	g_free(kinds);
	record_write(record);
}

uint32_t blocks_written(void)
{
	return last_id;
}
