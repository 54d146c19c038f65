/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a core of the A profile, and its two pipelines. */
#ifndef WORLDWISE_CORE_H
#define WORLDWISE_CORE_H

#include "memory.h"
#include "model.h"
#include "predictor.h"
#include "table.h"

#define CYCLES_KEPT 4096u /* how far apart two instructions in the pipeline can be */

/* Which ports are taken in a cycle, and which result buses; and how many micro-operations leave each port's queue. */
struct slot {
	uint64_t cycle;
	uint16_t ports;
	uint16_t buses;
	uint8_t leaves[MOST_PORTS];
};

/* What is known of a register's newest value. */
struct value {
	uint64_t ready;  /* for all uses but the next two */
	uint64_t added;  /* for an operand that is added to a product of the same group */
	uint64_t issued; /* in order: its instruction was */
	uint8_t group;
	uint8_t gives; /* out of order: the regions that forward it at once */
	uint8_t cause; /* what waiting for it is waiting for */
};

struct core {
	const struct table *table;
	struct memory memory;
	struct predictor predictor;
	struct value values[REGISTERS];
	struct slot slots[CYCLES_KEPT];

	/* The front end. */
	uint64_t fetch;      /* cycle of the next instruction's fetch */
	uint32_t fetched;    /* already fetched in it */
	uint64_t dispatch;   /* cycle of the last dispatch or, in order, issue */
	uint32_t dispatched; /* micro-operations in it */
	uint8_t of_limit[MOST_LIMITS];
	uint64_t redirected; /* the cycle until which the front end had nothing, and why */
	uint8_t redirect_cause;

	/* Out of order. */
	uint64_t window[MOST_WINDOW]; /* when each of the last micro-operations ended */
	uint32_t window_at;
	uint8_t waiting[MOST_PORTS]; /* by port: micro-operations in its queue */
	uint64_t retire_cycle;
	uint32_t retired;

	/* Loads that miss, each until its data come. */
	uint64_t missing[16];

	uint64_t clock; /* until now */
};

/* One instruction of a block, and what it accessed. */
struct step {
	const struct operation *operation;
	uint64_t pc;
	uint64_t place;  /* pc in units of which no two instructions share four: for the predictor */
	uint64_t behind; /* where the next one stands */
	uint64_t next;   /* where the core goes on */
	const struct access *accesses;
	size_t count;
};

/* A core with that table, which lives as long; and empty caches, predictors and stores. */
void core_start(struct core *core, const struct table *table);
void core_forget(struct core *core);

/* Executes one instruction; returns what the time since the one before went on. `clock` grows by that time. */
enum cause outorder_step(struct core *core, const struct step *step);
enum cause inorder_step(struct core *core, const struct step *step);

/* Of both. When the data of a load that is issued at `issue` are there. */
uint64_t core_load(struct core *core, const struct step *step, const struct timing *timing, uint64_t issue);
void core_store(struct core *core, const struct step *step, uint64_t ready, uint64_t drained);
/* How many micro-operations a load or store of several registers is. */
unsigned int core_moves(const struct step *step, const struct timing *timing);
/* Caches after an access as core_load and core_store leave them, without time. */
void core_warm(struct core *core, const struct operation *operation, const struct access *access);
/* How many micro-operations a store takes besides, since it crosses a boundary. */
unsigned int core_store_crosses(const struct core *core, const struct step *step);
/* Where the front end goes on after a branch that is decided at `decided`. */
void core_branch(struct core *core, const struct step *step, uint64_t decided);
/* The front end takes the instruction; returns the cycle. */
uint64_t core_fetch(struct core *core, const struct step *step);

static inline struct slot *core_slot(struct core *core, uint64_t cycle)
{
	struct slot *slot = &core->slots[cycle % CYCLES_KEPT];

	if (slot->cycle != cycle)
		*slot = (struct slot){ .cycle = cycle };
	return slot;
}

static inline enum cause core_cause(const struct timing *timing, const struct operation *operation)
{
	if (operation->moves && !operation->store)
		return CAUSE_MEMORY;
	return timing->multiplies ? CAUSE_MULTIPLIER : CAUSE_DEPENDENCY;
}

#endif /* WORLDWISE_CORE_H */
