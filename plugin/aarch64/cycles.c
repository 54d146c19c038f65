/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cycles.h"

#include <inttypes.h>
#include <stdio.h>

#include <glib.h>
#include <json-c/printbuf.h>

#include "../model/model.h"
#include "arguments.h"
#include "trace.h"

size_t cycles_cores;
size_t accesses_seen;

static struct model *models[MAX_CORES];
static struct units units[MAX_CORES];
static struct sampling *sampling; /* of the pass that runs */
static struct access *accesses;   /* of the block that runs, in the order of time */
static size_t accesses_room;

/* What a record of one core is made of, for print_rows(). */
static struct {
	size_t core;
	struct slot *const *slots;
	size_t count;
} printed;

bool cycles_add_core(const char *path)
{
	if (cycles_cores == MAX_CORES) {
		fprintf(stderr, "worldwise plugin: more than %d cores\n", MAX_CORES);
		return false;
	}
	models[cycles_cores] = model_read(path);
	if (!models[cycles_cores])
		return false;
	cycles_cores++;
	return true;
}

/* An instruction accessed memory. `data` is its place in its page, which is the same at all addresses of the page. */
static void on_access(unsigned int processor, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)processor;
	if (!scoreboard->active)
		return;
	if (accesses_seen == accesses_room) {
		accesses_room = accesses_room ? 2 * accesses_room : 1024;
		accesses = g_renew(struct access, accesses, accesses_room);
	}
	accesses[accesses_seen++] = (struct access){ .instruction = (uint32_t)(uintptr_t)data,
						     .bytes = 1u << qemu_plugin_mem_size_shift(info),
						     .address = address,
						     .store = qemu_plugin_mem_is_store(info) };
}

void cycles_watch(struct qemu_plugin_tb *translation, const struct block *block)
{
	if (!cycles_cores)
		return;
	for (uint32_t i = 0; i < block->instructions; i++) {
		uint64_t place = (block->pc + block_offset(block, i)) & (PAGE_BYTES - 1);

		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(translation, i), on_access,
						 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, as_pointer(place));
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

void cycles_run_models(struct slot *slot, uint64_t next)
{
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
	for (size_t i = 0; i < cycles_cores; i++)
		sampling_run(part, &units[i], models[i], block->decoded, block->instructions, accesses, count, next,
			     &slot->spent[i]);
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

/* json-c calls it for the array of rows: see print_rows() of counts.c. */
static int print_rows(struct json_object *rows, struct printbuf *buffer, int level, int flags)
{
	const char *between = "[";

	(void)rows;
	(void)level;
	(void)flags;
	for (size_t i = 0; i < printed.count; i++) {
		const struct slot *slot = printed.slots[i];
		const struct spent *spent = &slot->spent[printed.core];

		sprintbuf(buffer, "%s[%" PRIu32 ",%" PRIu32, between, slot->node->id, slot->block->id);
		for (int cause = 0; cause < CAUSES; cause++)
			sprintbuf(buffer, ",%" PRIu64, spent->cycles[cause]);
		sprintbuf(buffer, ",%" PRIu64 ",%" PRIu64 "]", spent->outside,
			  spent->outside_instructions + outside_skipped(slot, models[printed.core]));
		between = ",";
	}
	return sprintbuf(buffer, "]");
}

static int print_skipped(struct json_object *rows, struct printbuf *buffer, int level, int flags)
{
	const char *between = "[";

	(void)rows;
	(void)level;
	(void)flags;
	for (size_t i = 0; i < printed.count; i++) {
		const struct slot *slot = printed.slots[i];

		if (!slot->skipped)
			continue;
		sprintbuf(buffer, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64 "]", between, slot->node->id, slot->block->id,
			  slot->skipped);
		between = ",";
	}
	return sprintbuf(buffer, "]");
}

/* Writes a record with rows of `printed`; `core` is NULL for rows that are the same for all cores. */
static void write_rows(const char *type, uint32_t pass, const char *core, json_object_to_json_string_fn *print)
{
	struct json_object *record = record_new(type);
	struct json_object *rows = json_object_new_array();

	record_number(record, "pass", pass);
	if (core)
		record_text(record, "core", core);
	json_object_set_serializer(rows, print, NULL, NULL);
	record_value(record, "rows", rows);
	record_write(record);
}

static void write_units(uint32_t pass, const char *core, const struct units *of)
{
	struct json_object *record = record_new("units");

	record_number(record, "pass", pass);
	record_text(record, "core", core);
	record_number(record, "units", of->count);
	record_number(record, "cycles", of->cycles);
	record_number(record, "instructions", of->instructions);
	record_number(record, "cycles_squared", of->cycles_squared);
	record_number(record, "cycles_by_instructions", of->cycles_by_instructions);
	record_number(record, "instructions_squared", of->instructions_squared);
	record_write(record);
}

/* What sampling left out, and the units. */
static void flush_sampling(uint32_t pass)
{
	bool some = false;

	for (size_t i = 0; i < printed.count; i++)
		some |= printed.slots[i]->skipped > 0;
	if (some)
		write_rows("skipped", pass, NULL, print_skipped);
	for (size_t i = 0; i < printed.count; i++)
		printed.slots[i]->skipped = 0;
	for (size_t core = 0; core < cycles_cores; core++) {
		units_close(&units[core]);
		if (some || units[core].count)
			write_units(pass, model_name(models[core]), &units[core]);
		units[core] = (struct units){ .count = 0 };
	}
}

void cycles_flush(uint32_t pass, struct slot *const *slots, size_t count)
{
	printed.slots = slots;
	printed.count = count;
	for (size_t core = 0; core < cycles_cores; core++) {
		printed.core = core;
		write_rows("cycles", pass, model_name(models[core]), print_rows);
		for (size_t i = 0; i < count; i++)
			slots[i]->spent[core] = (struct spent){ .outside = 0 };
	}
	flush_sampling(pass);
}
