/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model of a core: how many cycles it takes for a stream of instructions, and on what they go. Integers alone, no
 * clock, no address of the host: the same stream gives the same cycles on every machine.
 */
#ifndef WORLDWISE_MODEL_H
#define WORLDWISE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_set { SET_A64, SET_A32, SET_T32 };

/* What a cycle went on: why an instruction ended no sooner behind the one before it. */
enum cause {
	CAUSE_ISSUE,      /* as many instructions as the core can take, or the units that are there */
	CAUSE_DEPENDENCY, /* waited for a result that is no product and came from no memory */
	CAUSE_MULTIPLIER, /* waited for a multiplier or divider, or for its result */
	CAUSE_MEMORY,     /* waited for data from memory */
	CAUSE_MISPREDICT, /* the branch before went another way than foretold */
	CAUSE_FETCH,      /* the instruction itself came late */
	CAUSES
};

/* An access to memory. */
struct access {
	uint32_t instruction; /* index in the block */
	uint32_t bytes;
	uint64_t address;
	bool store;
};

struct spent {
	uint64_t cycles[CAUSES];       /* their sum is the time that passed */
	uint64_t outside;              /* of these, what went on instructions for which the core has no figures */
	uint64_t outside_instructions; /* how many these were */
};

struct model; /* one core, and the state it is in */
struct code;  /* a block, decoded */

/* A core from its table (see worldwise.libraries.core_model). NULL, with the reason on stderr, if it cannot be read. */
struct model *model_read(const char *path);
const char *model_name(const struct model *model);

/* Decodes a block of `instructions`, whose bytes stand in a row. Lives until the program ends. */
struct code *code_decode(enum instruction_set set, uint64_t pc, const uint8_t *bytes, uint32_t instructions);

/*
 * The first `instructions` of a block were executed, with these accesses in order; then the core went on at `next`.
 * Adds to `spent`.
 */
void model_run(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
	       size_t count, uint64_t next, struct spent *spent);

/*
 * As model_run, for caches and predictors alone: they are afterwards as model_run leaves them. This and the next are for
 * cores of the A profile: what a microcontroller's flash holds depends on time, so nothing of that can be left out.
 */
void model_warm(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
		size_t count, uint64_t next);

/* Of the first `instructions` of a block: how many count as outside when they are executed. */
uint32_t model_outside(const struct model *model, const struct code *code, uint32_t instructions);

/* Caches, predictors and the pipeline are empty: before a first call. */
void model_forget(struct model *model);

#endif /* WORLDWISE_MODEL_H */
