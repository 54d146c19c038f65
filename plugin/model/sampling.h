/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling of long streams (R. Wunderlich and others: SMARTS, ISCA 2003). The begin of a stream runs through a model
 * whole. Behind it caches and predictors see every instruction, but the pipeline only units of them, each behind a
 * warm-up that is not counted. The gap before a unit is drawn anew each time, so that no loop keeps in step with it;
 * the generator begins with the same seed in each stream. All lengths are counts of instructions.
 */
#ifndef WORLDWISE_MODEL_SAMPLING_H
#define WORLDWISE_MODEL_SAMPLING_H

#include <stdint.h>

#include "model.h"

#define SAMPLING_WHOLE 10000000u /* of the begin */
#define SAMPLING_GAP 9000u       /* between two units: from half of it to one and a half */
#define SAMPLING_WARMUP 500u
#define SAMPLING_UNIT 500u

enum part {
	PART_WHOLE,   /* runs, and its cycles are taken */
	PART_SKIPPED, /* changes caches and predictors alone */
	PART_WARMUP,  /* runs, and its cycles are dropped */
	PART_UNIT     /* runs, its cycles are taken, and stand for what was skipped */
};

/* Where a stream is. */
struct sampling {
	uint64_t at; /* instructions so far */
	uint64_t part_end;
	uint64_t random;
	enum part part;
};

/* What a model said of the units so far: sums over them, from which Python makes the estimate and its error. */
struct units {
	uint64_t count;
	uint64_t cycles;
	uint64_t instructions;
	uint64_t cycles_squared;
	uint64_t cycles_by_instructions;
	uint64_t instructions_squared;
	/* The unit under way, which is not in the sums. */
	uint64_t unit_cycles;
	uint64_t unit_instructions;
};

void sampling_begin(struct sampling *sampling);

/* A block is next: the part that it is of, by where its first instruction is. */
enum part sampling_take(struct sampling *sampling, uint32_t instructions);

/* As model_run, for a block of that part. `spent` gets no cycles of what is skipped or warm-up. */
void sampling_run(enum part part, struct units *units, struct model *model, const struct code *code,
		  uint32_t instructions, const struct access *accesses, size_t count, uint64_t next,
		  struct spent *spent);

/* Ends the unit under way: what comes is not of the same one. */
void units_close(struct units *units);

#endif /* WORLDWISE_MODEL_SAMPLING_H */
