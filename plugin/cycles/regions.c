/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "regions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "spending.h"

static struct model *models[MAX_CORES];
static size_t cores;
static FILE *out;
static bool forgets;

/* The address of a counter; 0: marks are instructions. */
static uint64_t counter;

/* The function whose calls are regions, what was executed behind, and where the call under way returns to. */
static uint64_t function;
static uint64_t behind_last;
static uint64_t returns_to;

static bool inside;
static uint64_t regions;
static uint64_t instructions;
static struct spent spent[MAX_CORES];

/* Where Linux begins, 0: it is not told apart; what of the region was there, and how many exceptions came. */
static uint64_t linux_from;
static uint64_t linux_instructions;
static uint64_t exceptions;
static struct spent linux_spent[MAX_CORES];

/* The segment that is being executed, and its accesses so far. It goes to the models when the next one begins. */
static struct segment *pending;
static struct access *accesses;
static size_t access_count;
static size_t access_room = 256;

static struct qemu_plugin_scoreboard *board;
static qemu_plugin_u64 reached_last;

bool regions_add_core(const char *path)
{
	if (cores == MAX_CORES)
		return false;
	models[cores] = model_read(path);
	return models[cores] && ++cores;
}

bool regions_open(const char *path)
{
	out = fopen(path, "w");
	if (!out)
		perror(path);
	return out;
}

bool regions_forget(void)
{
	forgets = true;
	return true;
}

bool regions_by_counter(const char *address)
{
	char *rest;

	counter = strtoull(address, &rest, 0);
	return counter && !*rest;
}

bool regions_of_function(const char *address)
{
	char *rest;

	function = strtoull(address, &rest, 0);
	return function && !*rest;
}

bool regions_of_linux(const char *address)
{
	char *rest;

	linux_from = strtoull(address, &rest, 0);
	return linux_from && !*rest;
}

bool regions_start(void)
{
	board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	reached_last = qemu_plugin_scoreboard_u64(board);
	accesses = g_new(struct access, access_room);
	return cores && out;
}

/* How many instructions of the pending segment were executed, if the next one executed is at `next`. */
static uint32_t executed_of_pending(uint64_t next, bool aborted)
{
	uint32_t before;

	if (aborted) {
		before = segment_before(pending, next);
		if (before < pending->instructions)
			return before;
	}
	if (qemu_plugin_u64_get(reached_last, 0))
		return pending->instructions;
	before = segment_before(pending, next);
	if (before && before < pending->instructions)
		return before;
	/* An exception: what it hit is not known better than by the last access. */
	return access_count ? accesses[access_count - 1].instruction + 1 : 1;
}

/* The first `executed` instructions of the pending segment were executed, and then the one at `next`. */
static void feed_part(uint32_t executed, uint64_t next)
{
	for (size_t core = 0; core < cores; core++) {
		struct spent more = { 0 };

		model_run(models[core], pending->code, executed, accesses, access_count, next, &more);
		spending_add(&pending->spent[core], &more);
		spending_add(&spent[core], &more);
		if (linux_from && pending->pc >= linux_from)
			spending_add(&linux_spent[core], &more);
	}
	if (linux_from && pending->pc >= linux_from)
		linux_instructions += executed;
	pending->times++;
	pending->executed += executed;
	instructions += executed;
	pending = NULL;
}

static void feed(uint64_t next, bool aborted)
{
	if (pending)
		feed_part(executed_of_pending(next, aborted), next);
}

void region_begin(void)
{
	if (inside)
		return;
	inside = true;
	instructions = 0;
	memset(spent, 0, sizeof(spent));
	linux_instructions = 0;
	exceptions = 0;
	memset(linux_spent, 0, sizeof(linux_spent));
	if (forgets)
		for (size_t core = 0; core < cores; core++)
			model_forget(models[core]);
}

void region_end(uint64_t pc)
{
	if (!inside)
		return;
	feed(pc, false);
	inside = false;
	fprintf(out, "{\"type\":\"region\",\"index\":%" PRIu64 ",\"instructions\":%" PRIu64, regions++, instructions);
	spending_write(out, models, spent, cores);
	if (linux_from) {
		fprintf(out, ",\"linux\":{\"exceptions\":%" PRIu64 ",\"instructions\":%" PRIu64, exceptions,
			linux_instructions);
		spending_write(out, models, linux_spent, cores);
		fprintf(out, "}");
	}
	fprintf(out, "}\n");
}

/* The counter was read by the instruction of that index: a region ends with it, and the next one begins behind it. */
static void take_reading(uint32_t index)
{
	if (pending)
		feed_part(index + 1, pending->pc + pending->offsets[index + 1]);
	region_end(0);
	region_begin();
}

/* A call comes from the instruction before what it returns to. */
static void follow_function(const struct segment *segment)
{
	if (inside && segment->pc == returns_to) {
		region_end(segment->pc);
	} else if (!inside && segment->pc == function) {
		returns_to = behind_last;
		region_begin();
	}
	behind_last = segment->pc + segment->bytes;
}

void region_enter(struct segment *segment, const struct arrival *arrival)
{
	bool known = arrival && arrival->back;

	if (function)
		follow_function(segment);
	if (!inside)
		return;
	/* What was executed before an exception went on where that goes back to. */
	feed(known ? arrival->back : segment->pc, known && arrival->aborted);
	exceptions += arrival && arrival->exception;
	pending = segment;
	access_count = 0;
	qemu_plugin_u64_set(reached_last, 0, 0);
}

void region_reading(const struct place *place)
{
	take_reading(place->index);
}

void region_access(const struct place *place, uint64_t address, uint32_t bytes, bool store)
{
	uint32_t index = place->index;

	if (counter && address == counter && !inside) {
		take_reading(index);
		return;
	}
	if (!pending)
		return;
	if (place->segment != pending) {
		/* The emulator repeats an access to a device alone, in a translation that it never says to enter. */
		index = segment_before(pending, place->segment->pc + place->segment->offsets[place->index]);
		if (index == pending->instructions)
			return;
	}
	if (access_count == access_room)
		accesses = g_renew(struct access, accesses, access_room *= 2);
	accesses[access_count++] = (struct access){
		.instruction = index, .bytes = bytes, .address = address, .store = store
	};
	if (counter && address == counter)
		take_reading(index);
}

void region_watch_last(struct qemu_plugin_insn *instruction)
{
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, QEMU_PLUGIN_INLINE_STORE_U64, reached_last, 1);
}

void regions_finish(void)
{
	if (pending)
		region_end(pending->pc + pending->bytes);
	else if (inside)
		region_end(0);
	segments_write(out, models, cores);
	if (fclose(out))
		perror("cycles: out");
}
