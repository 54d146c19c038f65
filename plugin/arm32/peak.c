/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peak.h"

#include <stddef.h>
#include <string.h>

#include <json-c/json.h>

#include "../aarch64/stack.h"
#include "../aarch64/trace.h"
#include "processor.h"

bool peak_is_unknown;
bool peak_may_jump;
uint32_t peak_blocks;

/* How deep the stack got in one pass. */
struct peak {
	uint32_t from;    /* the stack pointer when it began; 0 until that is known */
	uint32_t lowest;  /* that it got to */
	uint32_t written; /* the lowest address that was stored to, of those below `from` */
	bool forgotten;   /* nobody can say */
	bool apart;       /* it is a handler's */
	struct node *node;
	uint64_t pc;
	/* The frame of the pass, and where the stack pointer was as each frame from there on was pushed. */
	size_t base;
	size_t count;
	uint32_t way[MAX_DEPTH + 1];
};

static uint32_t stack; /* now */
static struct peak peaks[PEAK_NESTED];
static size_t nested = 1;
static struct peak *peak = peaks; /* the innermost; once it has ended, that one */

/* Where the stack pointer was as each frame of the shadow stack was pushed. */
static uint32_t entries[MAX_DEPTH + 1];
static size_t depth;

void peak_begin(void)
{
	peak_is_unknown = true;
	depth = 0;
	nested = 1;
	peak = peaks;
	peak->from = 0;
	peak->node = NULL;
	peak->base = 0;
	peak->forgotten = false;
	peak->apart = false;
}

void peak_enter(uint32_t stack_pointer, bool apart)
{
	if (nested == PEAK_NESTED)
		return;
	peak = &peaks[nested++];
	peak->forgotten = peak->apart = apart;
	if (apart)
		return;
	while (depth < shadow.depth)
		entries[depth++] = stack_pointer;
	depth = shadow.depth;
	peak->from = peak->lowest = peak->written = stack = stack_pointer;
	peak_is_unknown = false;
	peak_blocks = 0;
	peak->node = stack_node();
	peak->pc = peak->node->target;
	peak->base = shadow.depth - 1;
	peak->way[0] = stack_pointer;
	peak->count = 1;
}

void peak_leave(void)
{
	struct peak *outer;
	size_t ahead;

	if (nested < 2)
		return;
	peak = &peaks[--nested];
	outer = &peaks[nested - 1];
	if (peak->apart)
		return;
	outer->forgotten |= peak->forgotten;
	if (nested == 1 || peak->lowest >= outer->lowest)
		return;
	ahead = peak->base - outer->base;
	memcpy(outer->way, entries + outer->base, ahead * sizeof(outer->way[0]));
	memcpy(outer->way + ahead, peak->way, peak->count * sizeof(outer->way[0]));
	outer->count = ahead + peak->count;
	outer->lowest = peak->lowest;
	outer->node = peak->node;
	outer->pc = peak->pc;
}

void peak_forget(void)
{
	for (size_t i = 1; i < nested; i++)
		peaks[i].forgotten = true;
}

void peak_ask(uint64_t pc)
{
	uint32_t said = flat_processor_stack();

	if (!peak_is_unknown && stack != said && peak_may_jump)
		peak_forget();
	else if (!peak_is_unknown && stack != said)
		trace_give_up("the stack pointer is not where the instructions put it", pc);
	stack = said;
	peak_is_unknown = false;
	peak_blocks = 0;
	if (!peak->from)
		peak->from = peak->lowest = peak->written = stack;
}

void peak_add(const struct flat_block *block)
{
	uint32_t deepest = stack + (uint32_t)block->deepest;

	/* What ended is the innermost until the next block. */
	peak = &peaks[nested - 1];
	while (depth < shadow.depth)
		entries[depth++] = stack;
	depth = shadow.depth;
	if (deepest < peak->lowest || !peak->node) {
		peak->lowest = deepest;
		peak->node = stack_node();
		peak->pc = block->block.pc;
		peak->count = depth > peak->base ? depth - peak->base : 0;
		memcpy(peak->way, entries + peak->base, peak->count * sizeof(peak->way[0]));
	}
	stack += (uint32_t)block->stack;
	peak_is_unknown |= block->moves_stack;
}

void peak_store(uint32_t address)
{
	if (address < peak->written)
		peak->written = address;
}

void peak_write_node(void)
{
	if (peak->node)
		node_write(peak->node);
}

void peak_write(struct json_object *record)
{
	struct json_object *path;

	if (!peak->from || !peak->node || peak->forgotten)
		return;
	node_write(peak->node);
	record_number(record, "stack", peak->from - peak->lowest);
	record_number(record, "stack_frame", peak->node->id);
	record_address(record, "stack_pc", peak->pc);
	record_number(record, "stack_written", peak->from - peak->written);
	path = json_object_new_array();
	for (size_t i = 0; i < peak->count; i++)
		json_object_array_add(path, json_object_new_uint64(peak->from - peak->way[i]));
	record_value(record, "stack_path", path);
}
