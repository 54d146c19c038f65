/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peak.h"

#include <stddef.h>
#include <string.h>

#include <json-c/json.h>

#include "../worldwise/stack.h"
#include "../worldwise/trace.h"
#include "processor.h"

bool peak_is_unknown;
uint32_t peak_blocks;

static uint32_t stack;   /* now */
static uint32_t from;    /* when the pass began; 0 until that is known */
static uint32_t lowest;  /* that it got to */
static uint32_t written; /* the lowest address that was stored to, of those below `from` */
static struct node *lowest_node;
static uint64_t lowest_pc;

/* Where the stack pointer was as each frame of the shadow stack was pushed; and what of it was so at the lowest. */
static uint32_t entries[MAX_DEPTH + 1];
static uint32_t way[MAX_DEPTH + 1];
static size_t depth;
static size_t way_depth;

void peak_begin(void)
{
	peak_is_unknown = true;
	from = 0;
	depth = 0;
	lowest_node = NULL;
}

void peak_ask(uint64_t pc)
{
	uint32_t said = flat_processor_stack();

	if (!peak_is_unknown && stack != said)
		trace_give_up("the stack pointer is not where the instructions put it", pc);
	stack = said;
	peak_is_unknown = false;
	peak_blocks = 0;
	if (!from)
		from = lowest = written = stack;
}

void peak_add(const struct flat_block *block)
{
	uint32_t deepest = stack + (uint32_t)block->deepest;

	while (depth < shadow.depth)
		entries[depth++] = stack;
	depth = shadow.depth;
	if (deepest < lowest || !lowest_node) {
		lowest = deepest;
		lowest_node = stack_node();
		lowest_pc = block->block.pc;
		way_depth = depth;
		memcpy(way, entries, depth * sizeof(way[0]));
	}
	stack += (uint32_t)block->stack;
	peak_is_unknown |= block->moves_stack;
}

void peak_store(uint32_t address)
{
	if (address < written)
		written = address;
}

void peak_write(struct json_object *record)
{
	struct json_object *path;

	if (!from || !lowest_node)
		return;
	node_write(lowest_node);
	record_number(record, "stack", from - lowest);
	record_number(record, "stack_frame", lowest_node->id);
	record_address(record, "stack_pc", lowest_pc);
	record_number(record, "stack_written", from - written);
	path = json_object_new_array();
	for (size_t i = 0; i < way_depth; i++)
		json_object_array_add(path, json_object_new_uint64(from - way[i]));
	record_value(record, "stack_path", path);
}
