/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counts.h"

#include <inttypes.h>
#include <stddef.h>

#include <glib.h>

#include "arguments.h"
#include "cycles.h"
#include "trace.h"

struct scoreboard *scoreboard;
qemu_plugin_u64 scoreboard_active;
qemu_plugin_u64 scoreboard_open;
qemu_plugin_u64 scoreboard_count;
struct totals totals;
struct slot *slot_cache[CACHED_SLOTS];

static struct qemu_plugin_scoreboard *scoreboards; /* one for each processor */
static GHashTable *slots;
static GPtrArray *unwritten; /* slots with a count that is not written yet */
static GPtrArray *branches;  /* blocks that went elsewhere, since they were written last */

static guint slot_hash(gconstpointer key)
{
	const struct slot *slot = key;

	return hash_pair((uintptr_t)slot->node, (uintptr_t)slot->block);
}

static gboolean slot_equal(gconstpointer left, gconstpointer right)
{
	const struct slot *a = left;
	const struct slot *b = right;

	return a->node == b->node && a->block == b->block;
}

void counts_start(void)
{
	slots = g_hash_table_new(slot_hash, slot_equal);
	unwritten = g_ptr_array_new();
	branches = g_ptr_array_new();
	scoreboards = qemu_plugin_scoreboard_new(sizeof(struct scoreboard));
	scoreboard_active = qemu_plugin_scoreboard_u64_in_struct(scoreboards, struct scoreboard, active);
	scoreboard_open = qemu_plugin_scoreboard_u64_in_struct(scoreboards, struct scoreboard, open);
	scoreboard_count = qemu_plugin_scoreboard_u64_in_struct(scoreboards, struct scoreboard, count);
}

void counts_attach(unsigned int processor)
{
	scoreboard = qemu_plugin_scoreboard_find(scoreboards, processor);
}

uint64_t counts_now(void)
{
	return arguments.stack_mode ? totals.counted : scoreboard->count + totals.counted;
}

struct slot *slot_of(struct node *node, struct block *block)
{
	struct slot wanted = { .node = node, .block = block };
	struct slot *found = g_hash_table_lookup(slots, &wanted);

	if (!found) {
		found = g_new(struct slot, 1);
		*found = wanted;
		g_hash_table_add(slots, found);
	}
	return found;
}

void slot_must_be_written(struct slot *slot)
{
	g_ptr_array_add(unwritten, slot);
}

/* [frame, block, times] */
static bool print_slot(struct printbuf *buffer, const char *between, size_t row, const void *of)
{
	const struct slot *slot = g_ptr_array_index((const GPtrArray *)of, row);

	sprintbuf(buffer, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64 "]", between, slot->node->id, slot->block->id,
		  slot->times);
	return true;
}

void counts_taken(struct block *block)
{
	if (!block->taken++)
		g_ptr_array_add(branches, block);
}

/* How often each block went elsewhere: rows of block, times. */
static void flush_taken(uint32_t pass)
{
	struct json_object *record = record_new("taken");
	struct json_object *rows = json_object_new_array();

	for (guint i = 0; i < branches->len; i++) {
		struct block *block = g_ptr_array_index(branches, i);
		struct json_object *row = json_object_new_array();

		block_write(block);
		json_object_array_add(row, json_object_new_uint64(block->id));
		json_object_array_add(row, json_object_new_uint64(block->taken));
		json_object_array_add(rows, row);
		block->taken = 0;
	}
	g_ptr_array_set_size(branches, 0);
	record_number(record, "pass", pass);
	record_value(record, "rows", rows);
	record_write(record);
}

void counts_flush(uint32_t pass)
{
	struct json_object *record;

	if (!unwritten->len)
		return;
	for (guint i = 0; i < unwritten->len; i++) {
		const struct slot *slot = g_ptr_array_index(unwritten, i);

		node_write(slot->node);
		block_write(slot->block);
	}
	record = record_new("counts");
	record_number(record, "pass", pass);
	record_write_rows(record, unwritten->len, print_slot, unwritten);
	cycles_flush(pass, (struct slot *const *)unwritten->pdata, unwritten->len);
	for (guint i = 0; i < unwritten->len; i++)
		((struct slot *)g_ptr_array_index(unwritten, i))->times = 0;
	g_ptr_array_set_size(unwritten, 0);
	if (branches->len)
		flush_taken(pass);
}
