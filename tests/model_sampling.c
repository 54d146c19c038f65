/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes a made-up program in the model of a core: model_sampling TABLE MODE INSTRUCTIONS. Its blocks, branches and
 * addresses come from a generator, so they are the same each time. Modes:
 *
 *   whole     everything runs through the model
 *   sampled   as plugin/aarch64 samples it
 *   run       everything runs; printed is the second half, but for its begin
 *   warm      of the first half caches and predictors alone; printed is the same
 *
 * Prints the cycles by cause, outside and outside_instructions; what was executed and what was skipped; the sums over
 * the units.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampling.h"

#define BLOCKS 200u
#define MOST 24u
#define BEGIN 2000u /* instructions until the pipeline is as if all had run */
#define PC UINT64_C(0x400000)
/* Data that the first cache does not hold, and of which most accesses go to a small part. */
#define DATA UINT64_C(0x20000000)
#define FOOTPRINT (256u << 10)
#define NEAR (8u << 10)

#define ADD 0x91000400u
#define MUL 0x9b017c00u
#define LDR 0xf9400020u
#define STR 0xf9000020u
#define DMB 0xd5033bbfu
#define CBZ 0xb4000040u
#define BR 0xd61f0000u

static struct code *codes[BLOCKS];
static uint64_t pcs[BLOCKS + 1];
static uint32_t lengths[BLOCKS];
static uint32_t words[BLOCKS][MOST];

static uint64_t draw(uint64_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 20) % below;
}

static void make_blocks(void)
{
	static const uint32_t kinds[] = { ADD, ADD, ADD, MUL, LDR, LDR, STR };

	pcs[0] = PC;
	for (uint32_t block = 0; block < BLOCKS; block++) {
		uint8_t bytes[4 * MOST];

		lengths[block] = 3 + (uint32_t)draw(MOST - 3);
		for (uint32_t i = 0; i < lengths[block]; i++) {
			uint32_t word = kinds[draw(sizeof(kinds) / sizeof(*kinds))];

			if (i + 1 == lengths[block])
				word = block % 5 ? CBZ : BR;
			else if (block == 7 && !i)
				word = DMB;
			words[block][i] = word;
			for (unsigned int byte = 0; byte < 4; byte++)
				bytes[4 * i + byte] = (uint8_t)(word >> 8 * byte);
		}
		codes[block] = code_decode(SET_A64, pcs[block], bytes, lengths[block]);
		pcs[block + 1] = pcs[block] + 4 * (uint64_t)lengths[block];
	}
}

static size_t make_accesses(uint32_t block, struct access *accesses)
{
	size_t count = 0;

	for (uint32_t i = 0; i < lengths[block]; i++)
		if (words[block][i] == LDR || words[block][i] == STR)
			accesses[count++] = (struct access){ .instruction = i,
							     .bytes = 8,
							     .address = DATA + draw(draw(8) ? NEAR : FOOTPRINT),
							     .store = words[block][i] == STR };
	return count;
}

int main(int count, char **arguments)
{
	struct model *model = count == 4 ? model_read(arguments[1]) : NULL;
	struct spent spent = { .outside = 0 };
	struct units units = { .count = 0 };
	uint64_t outside_skipped = 0;
	uint64_t executed = 0;
	uint64_t skipped = 0;
	struct sampling sampling;
	uint32_t block = 0;
	const char *mode;
	uint64_t all;

	if (!model)
		return 2;
	mode = arguments[2];
	all = strtoull(arguments[3], NULL, 10);
	make_blocks();
	sampling_begin(&sampling);
	while (executed < all) {
		/* In most phases of the program loops go over a few of the blocks. */
		uint32_t phase = (uint32_t)(executed / 400000 % 5);
		uint32_t next = phase ? phase * 40 + (block + 1 + (uint32_t)draw(2)) % (2 + phase)
				      : (uint32_t)draw(BLOCKS);
		struct access accesses[MOST];
		size_t accessed = make_accesses(block, accesses);
		struct spent dropped = { .outside = 0 };
		struct spent *of = &spent;
		enum part part = PART_WHOLE;

		if (!strcmp(mode, "sampled"))
			part = sampling_take(&sampling, lengths[block]);
		else if (!strcmp(mode, "warm") && executed < all / 2)
			part = PART_SKIPPED;
		if (strcmp(mode, "whole") && strcmp(mode, "sampled") && executed < all / 2 + BEGIN)
			of = &dropped;
		sampling_run(part, &units, model, codes[block], lengths[block], accesses, accessed, pcs[next], of);
		if (part == PART_SKIPPED || part == PART_WARMUP) {
			skipped += lengths[block];
			outside_skipped += model_outside(model, codes[block], lengths[block]);
		}
		executed += lengths[block];
		block = next;
	}
	units_close(&units);
	for (unsigned int i = 0; i < CAUSES; i++)
		printf("%" PRIu64 " ", spent.cycles[i]);
	printf("%" PRIu64 " %" PRIu64 " ", spent.outside, spent.outside_instructions + outside_skipped);
	printf("%" PRIu64 " %" PRIu64 " ", executed, skipped);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", units.count, units.cycles,
	       units.instructions, units.cycles_squared, units.cycles_by_instructions, units.instructions_squared);
	return 0;
}
