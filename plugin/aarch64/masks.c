/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "masks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "counts.h"
#include "cycles.h"
#include "processor.h"
#include "stack.h"
#include "trace.h"

/* As many passes as regions.c lets stand in one another. */
#define MAX_NESTED 64
/* The longest stretches of a pass that are kept. */
#define KEPT 5

/* Bits of a processor state. */
#define STATE_F (UINT64_C(1) << 6)
#define STATE_I (UINT64_C(1) << 7)

/* Where an instruction of a stretch is. */
struct place {
	struct node *node;
	uint64_t pc;
};

struct stretch {
	uint64_t since; /* as totals.counted */
	uint64_t instructions;
	struct place first;
	struct place last;
	struct span *span; /* of one that ended: see cycles.h; NULL if no model ran, or if it began before the pass */
};

struct level {
	uint64_t counted_before;
	uint64_t masked_before;
	struct place begin;
	struct stretch longest[KEPT]; /* the longest first; of equal ones the earlier first */
	size_t kept;
	uint64_t masked; /* of a pass that ended: all its instructions in stretches */
};

static struct level levels[MAX_NESTED + 1]; /* the last one: of the pass that ended last */
static size_t count;

static bool is_masked;
static struct stretch open; /* the stretch that goes on, if is_masked: its first instruction */
static uint64_t masked;     /* instructions of the stretches that ended, since the start */

/* Instructions in stretches until now, since the start. */
static uint64_t masked_now(void)
{
	return masked + (is_masked ? totals.counted - open.since : 0);
}

/* Whether the normal world's interrupts wait in a processor state, of what runs now. */
static bool waits(uint64_t state)
{
	if (running->el == 3)
		return true;
	return state & (running->secure ? STATE_F : STATE_I);
}

static void keep(struct level *level, const struct stretch *stretch)
{
	struct stretch of = *stretch;
	bool cut = of.since < level->counted_before;
	size_t at;

	/* Of a stretch that began before the pass, its part. */
	if (cut) {
		of.since = level->counted_before;
		of.first = level->begin;
	}
	of.instructions = totals.counted - of.since;
	if (!of.instructions)
		return;
	for (at = level->kept; at > 0 && level->longest[at - 1].instructions < of.instructions;)
		at--;
	if (at == KEPT)
		return;
	if (level->kept == KEPT)
		cycles_span_free(level->longest[KEPT - 1].span);
	else
		level->kept++;
	memmove(&level->longest[at + 1], &level->longest[at], (level->kept - 1 - at) * sizeof(of));
	/* The models added up all of it, and not the part. */
	of.span = cut ? NULL : cycles_span_copy();
	level->longest[at] = of;
}

static void begin_stretch(uint64_t pc)
{
	is_masked = true;
	open = (struct stretch){ .since = totals.counted, .first = { .node = stack_node(), .pc = pc } };
	cycles_span_begins();
}

static void end_stretch(struct node *last, uint64_t site)
{
	masked = masked_now();
	is_masked = false;
	open.last = (struct place){ .node = last, .pc = site };
	for (size_t i = 0; i < count; i++)
		keep(&levels[i], &open);
	cycles_span_ends();
}

/* A level's stretches are written, or nobody wants them. */
static void forget_spans(struct level *level)
{
	for (size_t i = 0; i < level->kept; i++) {
		cycles_span_free(level->longest[i].span);
		level->longest[i].span = NULL;
	}
}

void masks_forget(void)
{
	for (size_t i = 0; i < count; i++)
		forget_spans(&levels[i]);
	count = 0;
	is_masked = false;
	cycles_span_ends();
	open = (struct stretch){ .since = totals.counted };
}

void masks_begin(uint64_t pc)
{
	/* The outermost: nobody has looked before it. */
	if (!count && waits(processor_state()))
		begin_stretch(pc);
	levels[count++] = (struct level){ .counted_before = totals.counted,
					  .masked_before = masked_now(),
					  .begin = { .node = stack_node(), .pc = pc } };
}

void masks_end(size_t at)
{
	struct level *level = &levels[at];

	if (at >= count)
		return;
	if (is_masked) {
		open.last = (struct place){ .node = stack_node(), .pc = stack_node()->target };
		keep(level, &open);
	}
	level->masked = masked_now() - level->masked_before;
	forget_spans(&levels[MAX_NESTED]);
	levels[MAX_NESTED] = *level;
	count--;
	memmove(level, level + 1, (count - at) * sizeof(*level));
}

void masks_changed(struct node *last, uint64_t site, uint64_t state, uint64_t pc)
{
	bool now = waits(state);

	if (now && !is_masked)
		begin_stretch(pc);
	else if (!now && is_masked)
		end_stretch(last, site);
}

void masks_exception(uint64_t pc)
{
	if (!is_masked)
		begin_stretch(pc);
}

void masks_write_spans(uint32_t pass)
{
	const struct level *ended = &levels[MAX_NESTED];

	for (size_t i = 0; i < ended->kept; i++)
		if (ended->longest[i].span)
			cycles_span_write(ended->longest[i].span, pass,
					  ended->longest[i].since - ended->counted_before);
}

void masks_write_nodes(void)
{
	const struct level *ended = &levels[MAX_NESTED];

	for (size_t i = 0; i < ended->kept; i++) {
		node_write(ended->longest[i].first.node);
		node_write(ended->longest[i].last.node);
	}
}

static void add_place(struct json_object *row, const struct place *place)
{
	json_object_array_add(row, json_object_new_uint64(place->node->id));
	json_object_array_add(row, json_object_new_uint64(place->pc));
}

void masks_write(struct json_object *record)
{
	const struct level *ended = &levels[MAX_NESTED];
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < ended->kept; i++) {
		const struct stretch *stretch = &ended->longest[i];
		struct json_object *row = json_object_new_array();

		json_object_array_add(row, json_object_new_uint64(stretch->since - ended->counted_before));
		json_object_array_add(row, json_object_new_uint64(stretch->instructions));
		add_place(row, &stretch->first);
		add_place(row, &stretch->last);
		json_object_array_add(rows, row);
	}
	record_number(record, "masked", ended->masked);
	record_value(record, "stretches", rows);
}
