/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In order: an instruction is issued no sooner than the one before it, when its operands will be there at the stage that
 * needs them and its port is free; so many in a cycle as the core is wide.
 */
#include "core.h"
#include "wait.h"

/* The first cycle in which the instruction could be issued if its stages alone decided when an operand is needed. */
static uint64_t operand(const struct value *value, enum role role, const struct timing *timing)
{
	unsigned int need = timing->need[role];

	if (role == ROLE_ACCUMULATE && value->group && value->group == timing->group)
		return value->added;
	/* What is loaded comes to an address sooner. */
	if (role == ROLE_ADDRESS && value->cause == CAUSE_MEMORY)
		need += timing->early;
	return value->ready > need ? value->ready - need : 0;
}

/* Waits for all operands; returns when the last was there. */
static uint64_t operands(const struct core *core, const struct operation *operation, const struct timing *timing,
			 struct wait *wait)
{
	uint64_t last = 0;

	for (unsigned int i = 0; i < operation->sources; i++) {
		const struct value *value = &core->values[operation->source[i]];
		uint64_t ready = operand(value, operation->role[i], timing);

		if (ready > last)
			last = ready;
		wait_for(wait, ready, value->cause);
		if (timing->behind && value->issued)
			wait_for(wait, value->issued + timing->behind, value->cause);
	}
	return last;
}

/* The first cycle from `from` with a port that stays free; it is taken. */
static uint64_t take_port(struct core *core, const struct timing *timing, unsigned int busy, uint64_t from)
{
	for (uint64_t cycle = from;; cycle++) {
		uint16_t open = (uint16_t)(timing->ports & ~core_slot(core, cycle)->ports);

		for (unsigned int later = 1; open && later < busy; later++)
			open &= (uint16_t)~core_slot(core, cycle + later)->ports;
		if (!open)
			continue;
		if (timing->uops < 2) {
			open = (uint16_t)(open & (~open + 1u));
		} else { /* both halves of a unit */
			if ((open & timing->ports) != timing->ports)
				continue;
		}
		for (unsigned int later = 0; later < busy; later++)
			core_slot(core, cycle + later)->ports |= open;
		return cycle;
	}
}

static uint64_t issue(struct core *core, const struct step *step, const struct timing *timing, struct wait *wait)
{
	unsigned int busy = timing->each || timing->pairs ? core_moves(step, timing) : timing->busy;
	uint64_t cycle;

	if (core->dispatched >= core->table->width || ((timing->alone & 1) && core->dispatched))
		wait_for(wait, core->dispatch + 1, CAUSE_ISSUE);
	cycle = timing->ports ? take_port(core, timing, busy, wait->until) : wait->until;
	if (cycle > wait->until) {
		wait->until = cycle;
		wait->cause = timing->multiplies ? CAUSE_MULTIPLIER : CAUSE_ISSUE;
	}
	if (cycle > core->dispatch) {
		core->dispatch = cycle;
		core->dispatched = 0;
	}
	core->dispatched = timing->alone == 1 || timing->alone == 2 ? core->table->width : core->dispatched + 1;
	if (!timing->holds || busy < 2)
		return cycle;
	/* In the last cycle of its issue another may be beside it. */
	core->dispatch = cycle + busy - 1;
	return core->dispatch;
}

static void results(struct core *core, const struct operation *operation, const struct timing *timing, uint64_t cycle,
		    uint64_t done)
{
	unsigned int last = operation->results;
	struct value value = { .ready = done,
			       .added = timing->group ? cycle + timing->forward : done,
			       .issued = cycle,
			       .group = timing->group,
			       .cause = (uint8_t)core_cause(timing, operation) };

	if (operation->base_result) {
		last--;
		core->values[operation->result[last]] = (struct value){ .ready = cycle + core->table->writeback_latency,
									.cause = CAUSE_DEPENDENCY };
	}
	for (unsigned int i = 0; i < last; i++) {
		core->values[operation->result[i]] = value;
		if (operation->result[i] == REGISTER_FLAGS && core->table->flags_latency)
			core->values[REGISTER_FLAGS].ready = cycle + core->table->flags_latency;
	}
	if (last == 2 && timing->second_latency)
		core->values[operation->result[1]].ready = cycle + timing->second_latency;
}

enum cause inorder_step(struct core *core, const struct step *step)
{
	const struct operation *operation = step->operation;
	const struct timing *timing = timing_of(core->table, operation);
	uint64_t fetch = core_fetch(core, step);
	struct wait wait = { .until = core->dispatch, .cause = CAUSE_ISSUE };
	uint64_t there;
	uint64_t cycle;
	uint64_t done;

	wait_for(&wait, fetch, core->redirected == fetch ? (enum cause)core->redirect_cause : CAUSE_ISSUE);
	there = operands(core, operation, timing, &wait);
	cycle = issue(core, step, timing, &wait);
	done = cycle + timing->latency;
	/* What need not wait for its operands executes in the first stage that can. */
	if (timing->hurry)
		done -= cycle - there < timing->hurry ? cycle - there : timing->hurry;
	if (operation->moves && !operation->store)
		done = core_load(core, step, timing, cycle);
	results(core, operation, timing, cycle, done);
	if (operation->store)
		core_store(core, step, cycle, cycle + 1);
	if (operation->branch)
		core_branch(core, step, operation->moves ? done : cycle + 1); /* one that is loaded is known late */
	core->clock = core->dispatch;
	return wait.cause;
}
