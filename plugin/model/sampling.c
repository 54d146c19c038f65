/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampling.h"

#define SEED UINT64_C(0x9e3779b97f4a7c15)

void sampling_begin(struct sampling *sampling)
{
	*sampling = (struct sampling){ .part = PART_WHOLE, .part_end = SAMPLING_WHOLE, .random = SEED };
}

/* G. Marsaglia: Xorshift RNGs, 2003. */
static uint64_t draw(struct sampling *sampling, uint64_t below)
{
	sampling->random ^= sampling->random << 13;
	sampling->random ^= sampling->random >> 7;
	sampling->random ^= sampling->random << 17;
	return (sampling->random >> 16) % below;
}

static void begin_next_part(struct sampling *sampling)
{
	switch (sampling->part) {
	case PART_SKIPPED:
		sampling->part = PART_WARMUP;
		sampling->part_end += SAMPLING_WARMUP;
		break;
	case PART_WARMUP:
		sampling->part = PART_UNIT;
		sampling->part_end += SAMPLING_UNIT;
		break;
	case PART_WHOLE:
	case PART_UNIT:
		sampling->part = PART_SKIPPED;
		sampling->part_end += SAMPLING_GAP / 2 + draw(sampling, SAMPLING_GAP + 1);
		break;
	}
}

/*
 * Parts end at instructions and not with blocks, so that a long block is in a unit as often as its place among all
 * instructions says, and not more often.
 */
enum part sampling_take(struct sampling *sampling, uint32_t instructions)
{
	while (sampling->at >= sampling->part_end)
		begin_next_part(sampling);
	sampling->at += instructions;
	return sampling->part;
}

static uint64_t total(const struct spent *spent)
{
	uint64_t sum = 0;

	for (int cause = 0; cause < CAUSES; cause++)
		sum += spent->cycles[cause];
	return sum;
}

void sampling_run(enum part part, struct units *units, struct model *model, const struct code *code,
		  uint32_t instructions, const struct access *accesses, size_t count, uint64_t next,
		  struct spent *spent)
{
	struct spent dropped = { .outside = 0 };
	uint64_t before;

	if (part != PART_UNIT)
		units_close(units);
	switch (part) {
	case PART_WHOLE:
		model_run(model, code, instructions, accesses, count, next, spent);
		break;
	case PART_SKIPPED:
		model_warm(model, code, instructions, accesses, count, next);
		break;
	case PART_WARMUP:
		model_run(model, code, instructions, accesses, count, next, &dropped);
		break;
	case PART_UNIT:
		before = total(spent);
		model_run(model, code, instructions, accesses, count, next, spent);
		units->unit_cycles += total(spent) - before;
		units->unit_instructions += instructions;
		break;
	}
}

void units_close(struct units *units)
{
	uint64_t cycles = units->unit_cycles;
	uint64_t instructions = units->unit_instructions;

	if (!instructions)
		return;
	units->count++;
	units->cycles += cycles;
	units->instructions += instructions;
	units->cycles_squared += cycles * cycles;
	units->cycles_by_instructions += cycles * instructions;
	units->instructions_squared += instructions * instructions;
	units->unit_cycles = 0;
	units->unit_instructions = 0;
}
