/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cycles.h"

#include <inttypes.h>
#include <string.h>

#include <glib.h>

#include "../model/model.h"
#include "arguments.h"
#include "trace.h"

static struct units units[MAX_CORES];
static struct sampling *sampling; /* of the pass that runs */

/* What a block on a node took in a span. */
struct span_row {
	const struct slot *slot;
	uint64_t times;
	struct spent spent[MAX_CORES];
};

struct span {
	size_t count;
	struct span_row rows[];
};

static GArray *span_rows;    /* of the open span, or of the one that ended last */
static uint32_t span_number; /* of that one; the first has 1 */
static bool span_is_open;
static bool span_is_cut; /* sampling left out some of it */

/* What a record of one core is made of. */
struct span_of_core {
	size_t core;
	const struct span *span;
};

void cycles_watch(struct qemu_plugin_tb *translation, const struct block *block)
{
	if (!cycles_cores)
		return;
	for (uint32_t i = 0; i < block->instructions; i++) {
		/* Its place in its page, which is the same at all addresses of the page. */
		uint64_t place = (block->pc + block_offset(block, i)) & (PAGE_BYTES - 1);

		accesses_watch(qemu_plugin_tb_get_insn(translation, i), place);
	}
}

/*
 * Makes places in the page to indexes in the block, and leaves out what is of none of its instructions: one that was
 * begun and not ended. Returns how many are left.
 */
static size_t place_accesses(const struct block *block)
{
	uint64_t first = block->pc & (PAGE_BYTES - 1);
	size_t left = 0;

	for (size_t i = 0; i < accesses_seen; i++) {
		uint64_t place = accesses[i].instruction;
		uint64_t number = block_before(block, place - first);

		if (place < first || number >= block->instructions)
			continue;
		accesses[left] = accesses[i];
		accesses[left++].instruction = (uint32_t)number;
	}
	return left;
}

void cycles_of_pass(struct sampling *of)
{
	sampling = of;
}

void cycles_span_begins(void)
{
	if (!cycles_cores)
		return;
	if (!span_rows)
		span_rows = g_array_new(false, false, sizeof(struct span_row));
	g_array_set_size(span_rows, 0);
	span_number++;
	span_is_open = true;
	span_is_cut = false;
}

void cycles_span_ends(void)
{
	span_is_open = false;
}

struct span *cycles_span_copy(void)
{
	struct span *copy;

	if (!span_is_open || span_is_cut)
		return NULL;
	copy = g_malloc(sizeof(*copy) + span_rows->len * sizeof(copy->rows[0]));
	copy->count = span_rows->len;
	memcpy(copy->rows, span_rows->data, copy->count * sizeof(copy->rows[0]));
	return copy;
}

void cycles_span_free(struct span *span)
{
	g_free(span);
}

/* The row of a slot in the open span. */
static struct span_row *span_row_of(struct slot *slot)
{
	if (slot->span != span_number) {
		const struct span_row row = { .slot = slot };

		slot->span = span_number;
		slot->span_row = span_rows->len;
		g_array_append_val(span_rows, row);
	}
	return &g_array_index(span_rows, struct span_row, slot->span_row);
}

/* Adds to a span what a block took: what there is after it less what there was before. */
static void span_add(struct spent *to, const struct spent *before, const struct spent *after)
{
	for (int cause = 0; cause < CAUSES; cause++)
		to->cycles[cause] += after->cycles[cause] - before->cycles[cause];
	to->outside += after->outside - before->outside;
	to->outside_instructions += after->outside_instructions - before->outside_instructions;
}

void cycles_run_models(struct slot *slot, uint64_t next)
{
	struct span_row *row = NULL;
	struct block *block = slot->block;
	enum part part = PART_WHOLE;
	size_t count;

	if (!block->decoded)
		block->decoded = code_decode(block->set, block->pc, block->code, block->instructions);
	if (!slot->spent)
		slot->spent = g_new0(struct spent, cycles_cores);
	count = place_accesses(block);
	if (arguments.sampling)
		part = sampling_take(sampling, block->instructions);
	if (part == PART_SKIPPED || part == PART_WARMUP)
		slot->skipped++;
	if (span_is_open) {
		span_is_cut |= part == PART_SKIPPED || part == PART_WARMUP;
		row = span_row_of(slot);
		row->times++;
	}
	for (size_t i = 0; i < cycles_cores; i++) {
		struct spent before = slot->spent[i];

		sampling_run(part, &units[i], models[i], block->decoded, block->instructions, accesses, count, next,
			     &slot->spent[i]);
		if (row)
			span_add(&row->spent[i], &before, &slot->spent[i]);
	}
	accesses_seen = 0;
}

void cycles_forget(void)
{
	for (size_t i = 0; i < cycles_cores; i++)
		model_forget(models[i]);
}

/* How many instructions that sampling left out are outside: as many each time as when they run through the model. */
static uint64_t outside_skipped(const struct slot *slot, const struct model *model)
{
	if (!slot->skipped)
		return 0;
	return slot->skipped * model_outside(model, slot->block->decoded, slot->block->instructions);
}

static bool print_skipped(struct printbuf *buffer, const char *between, size_t row, const void *of)
{
	const struct slot *slot = ((struct slot *const *)of)[row];

	if (slot->skipped)
		sprintbuf(buffer, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64 "]", between, slot->node->id, slot->block->id,
			  slot->skipped);
	return slot->skipped > 0;
}

static bool print_of_span(struct printbuf *buffer, const char *between, size_t at, const void *of)
{
	const struct span_of_core *printed = of;
	const struct span_row *row = &printed->span->rows[at];

	sprintbuf(buffer, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64, between, row->slot->node->id, row->slot->block->id,
		  row->times);
	cores_print_spent(buffer, &row->spent[printed->core], 0);
	return true;
}

void cycles_span_write(const struct span *span, uint32_t pass, uint64_t at)
{
	for (size_t core = 0; core < cycles_cores; core++) {
		struct json_object *record = cores_record("stretch", pass, core);
		struct span_of_core of = { core, span };

		record_number(record, "at", at);
		record_write_rows(record, span->count, print_of_span, &of);
	}
}

static void write_units(uint32_t pass, size_t core)
{
	struct json_object *record = cores_record("units", pass, core);
	const struct units *of = &units[core];

	record_number(record, "units", of->count);
	record_number(record, "cycles", of->cycles);
	record_number(record, "instructions", of->instructions);
	record_number(record, "cycles_squared", of->cycles_squared);
	record_number(record, "cycles_by_instructions", of->cycles_by_instructions);
	record_number(record, "instructions_squared", of->instructions_squared);
	record_write(record);
}

/* What sampling left out, and the units. */
static void flush_sampling(uint32_t pass, struct slot *const *slots, size_t count)
{
	struct json_object *record;
	bool some = false;

	for (size_t i = 0; i < count; i++)
		some |= slots[i]->skipped > 0;
	if (some) {
		record = record_new("skipped");
		record_number(record, "pass", pass);
		record_write_rows(record, count, print_skipped, slots);
	}
	for (size_t i = 0; i < count; i++)
		slots[i]->skipped = 0;
	for (size_t core = 0; core < cycles_cores; core++) {
		units_close(&units[core]);
		if (some || units[core].count)
			write_units(pass, core);
		units[core] = (struct units){ .count = 0 };
	}
}

void cycles_flush(uint32_t pass, struct slot *const *slots, size_t count)
{
	cores_flush(pass, slots, count, outside_skipped);
	flush_sampling(pass, slots, count);
}
