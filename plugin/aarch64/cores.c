/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cores.h"

#include <inttypes.h>
#include <stdio.h>

#include <glib.h>
#include <json-c/printbuf.h>

#include "counts.h"
#include "tables.h"
#include "trace.h"

size_t cycles_cores;
struct model *models[MAX_CORES];
struct access *accesses;
size_t accesses_seen;

static size_t accesses_room;

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

void accesses_watch(struct qemu_plugin_insn *instruction, uint64_t place)
{
	qemu_plugin_register_vcpu_mem_cb(instruction, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 as_pointer(place));
}

struct json_object *cores_record(const char *type, uint32_t pass, size_t core)
{
	struct json_object *record = record_new(type);

	record_number(record, "pass", pass);
	record_text(record, "core", model_name(models[core]));
	return record;
}

void cores_print_spent(struct printbuf *buffer, const struct spent *spent, uint64_t outside_instructions)
{
	for (int cause = 0; cause < CAUSES; cause++)
		sprintbuf(buffer, ",%" PRIu64, spent->cycles[cause]);
	sprintbuf(buffer, ",%" PRIu64 ",%" PRIu64 "]", spent->outside,
		  spent->outside_instructions + outside_instructions);
}

struct of_core {
	size_t core;
	struct slot *const *slots;
	uint64_t (*outside)(const struct slot *slot, const struct model *model);
};

static bool print_slot(struct printbuf *buffer, const char *between, size_t row, const void *of)
{
	const struct of_core *printed = of;
	const struct slot *slot = printed->slots[row];
	uint64_t outside = printed->outside ? printed->outside(slot, models[printed->core]) : 0;

	sprintbuf(buffer, "%s[%" PRIu32 ",%" PRIu32, between, slot->node->id, slot->block->id);
	cores_print_spent(buffer, &slot->spent[printed->core], outside);
	return true;
}

void cores_flush(uint32_t pass, struct slot *const *slots, size_t count,
		 uint64_t (*outside)(const struct slot *slot, const struct model *model))
{
	for (size_t core = 0; core < cycles_cores; core++) {
		struct of_core of = { core, slots, outside };

		record_write_rows(cores_record("cycles", pass, core), count, print_slot, &of);
		for (size_t i = 0; i < count; i++)
			slots[i]->spent[core] = (struct spent){ .outside = 0 };
	}
}
