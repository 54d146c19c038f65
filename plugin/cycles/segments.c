/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "segments.h"

#include <inttypes.h>
#include <string.h>

#include <glib.h>

#include "spending.h"

static GHashTable *segments;

static guint segment_hash(gconstpointer key)
{
	const struct segment *segment = key;
	uint64_t mixed = (segment->pc ^ (uint64_t)segment->bytes << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return (guint)(mixed >> 32);
}

static gboolean segment_equal(gconstpointer left, gconstpointer right)
{
	const struct segment *a = left;
	const struct segment *b = right;

	return a->pc == b->pc && a->instructions == b->instructions && a->bytes == b->bytes &&
	       !memcmp(a->content, b->content, a->bytes);
}

void segments_start(void)
{
	segments = g_hash_table_new(segment_hash, segment_equal);
}

struct segment *segment_of(const struct qemu_plugin_tb *translation, size_t first, size_t count)
{
	struct segment *segment = g_new0(struct segment, 1);
	uint32_t *offsets = g_new0(uint32_t, count + 1);
	struct segment *found;
	uint8_t *content;

	for (size_t i = 0; i < count; i++)
		offsets[i + 1] = offsets[i] +
				 (uint32_t)qemu_plugin_insn_size(qemu_plugin_tb_get_insn(translation, first + i));
	content = g_malloc(offsets[count]);
	for (size_t i = 0; i < count; i++)
		(void)qemu_plugin_insn_data(qemu_plugin_tb_get_insn(translation, first + i), content + offsets[i],
					    offsets[i + 1] - offsets[i]);
	segment->pc = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translation, first));
	segment->instructions = (uint32_t)count;
	segment->bytes = offsets[count];
	segment->content = content;
	segment->offsets = offsets;
	found = g_hash_table_lookup(segments, segment);
	if (found) {
		g_free(content);
		g_free(offsets);
		g_free(segment);
		return found;
	}
	g_hash_table_add(segments, segment);
	return segment;
}

void segment_decode(struct segment *segment, enum instruction_set set)
{
	segment->code = code_decode(set, segment->pc, segment->content, segment->instructions);
}

uint32_t segment_before(const struct segment *segment, uint64_t address)
{
	uint32_t before = 0;

	if (address < segment->pc || address >= segment->pc + segment->bytes)
		return segment->instructions;
	while (segment->pc + segment->offsets[before] < address)
		before++;
	return before;
}

static gint by_address(gconstpointer left, gconstpointer right)
{
	const struct segment *a = left;
	const struct segment *b = right;

	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	if (a->instructions != b->instructions)
		return a->instructions < b->instructions ? -1 : 1;
	return memcmp(a->content, b->content, MIN(a->bytes, b->bytes));
}

void segments_write(FILE *out, struct model *const *models, size_t cores)
{
	GList *list = g_list_sort(g_hash_table_get_keys(segments), by_address);

	for (const GList *at = list; at; at = at->next) {
		const struct segment *segment = at->data;

		if (!segment->times)
			continue;
		fprintf(out,
			"{\"type\":\"block\",\"pc\":%" PRIu64 ",\"bytes\":%" PRIu32 ",\"instructions\":%" PRIu32
			",\"times\":%" PRIu64 ",\"executed\":%" PRIu64,
			segment->pc, segment->bytes, segment->instructions, segment->times, segment->executed);
		spending_write(out, models, segment->spent, cores);
		fprintf(out, "}\n");
	}
	g_list_free(list);
}
