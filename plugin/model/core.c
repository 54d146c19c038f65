/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core.h"

#define MISSES (sizeof(((struct core *)0)->missing) / sizeof(uint64_t))

void core_start(struct core *core, const struct table *table)
{
	core->table = table;
	memory_start(&core->memory, table);
}

void core_forget(struct core *core)
{
	memory_forget(&core->memory);
	predictor_forget(&core->predictor, core->table->returns);
}

/* A load that misses waits until one of the places for misses is free. */
static uint64_t miss(struct core *core, uint64_t issue, uint32_t latency)
{
	uint32_t places = core->table->misses ? core->table->misses : 1;
	uint64_t *oldest = &core->missing[0];

	for (uint32_t i = 1; i < places && i < MISSES; i++)
		if (core->missing[i] < *oldest)
			oldest = &core->missing[i];
	if (*oldest > issue)
		issue = *oldest;
	*oldest = issue + latency;
	return issue + latency;
}

uint64_t core_load(struct core *core, const struct step *step, const struct timing *timing, uint64_t issue)
{
	const struct table *table = core->table;
	uint64_t ready = issue;

	for (size_t i = 0; i < step->count; i++) {
		const struct access *access = &step->accesses[i];
		uint64_t last = access->address + access->bytes - 1;
		uint32_t late = memory_data(&core->memory, table, access->address);
		uint64_t stored = memory_stored(&core->memory, table, access->address, access->bytes, issue);
		uint64_t time = late ? miss(core, issue, late) : issue;

		if (last / table->line_bytes != access->address / table->line_bytes) {
			late = memory_data(&core->memory, table, last);
			time = (late ? miss(core, time, late) : time) + table->unaligned;
		}
		if (time > ready)
			ready = time;
		if (stored > ready + timing->latency)
			ready = stored - timing->latency;
	}
	return ready + timing->latency;
}

void core_store(struct core *core, const struct step *step, uint64_t ready, uint64_t drained)
{
	for (size_t i = 0; i < step->count; i++) {
		const struct access *access = &step->accesses[i];

		if (!access->store)
			continue;
		memory_data(&core->memory, core->table, access->address);
		memory_store(&core->memory, access->address, access->bytes, ready, drained);
	}
}

unsigned int core_moves(const struct step *step, const struct timing *timing)
{
	unsigned int moves = step->operation->moves;

	if (!timing->pairs)
		return timing->each ? timing->each * moves : timing->uops;
	/* Two words at a time, if they stand in one aligned doubleword. */
	if (step->count && step->accesses->address & 4)
		moves++;
	return moves > 1 ? (moves + 1) / 2 : 1;
}

void core_warm(struct core *core, const struct operation *operation, const struct access *access)
{
	const struct table *table = core->table;
	uint64_t last = access->address + access->bytes - 1;

	if (operation->store) {
		if (access->store)
			memory_data(&core->memory, table, access->address);
		return;
	}
	/* Out of order, what goes to no port accesses nothing: see outorder_step(). */
	if (!operation->moves || (table->pipeline == PIPELINE_OUT_OF_ORDER && !timing_of(table, operation)->ports))
		return;
	memory_data(&core->memory, table, access->address);
	if (last / table->line_bytes != access->address / table->line_bytes)
		memory_data(&core->memory, table, last);
}

unsigned int core_store_crosses(const struct core *core, const struct step *step)
{
	uint32_t boundary = core->table->store_boundary;
	unsigned int crossed = 0;

	for (size_t i = 0; boundary && i < step->count; i++) {
		const struct access *access = &step->accesses[i];

		crossed += access->store &&
			   access->address / boundary != (access->address + access->bytes - 1) / boundary;
	}
	return crossed;
}

uint64_t core_fetch(struct core *core, const struct step *step)
{
	const struct table *table = core->table;
	uint32_t late = memory_code(&core->memory, table, step->pc);

	if (late) {
		core->fetch += late;
		core->fetched = 0;
		core->redirected = core->fetch;
		core->redirect_cause = CAUSE_FETCH;
	}
	if (core->fetched >= table->fetch) {
		core->fetch++;
		core->fetched = 0;
	}
	core->fetched++;
	return core->fetch;
}

static void go_on_at(struct core *core, uint64_t cycle, enum cause cause)
{
	if (cycle <= core->fetch)
		return;
	core->fetch = cycle;
	core->fetched = 0;
	core->redirected = cycle;
	core->redirect_cause = (uint8_t)cause;
}

void core_branch(struct core *core, const struct step *step, uint64_t decided)
{
	const struct table *table = core->table;
	enum branch_kind kind = step->operation->branch;
	bool taken = step->next != step->behind;
	bool right = true;

	/* Whether a conditional call or return is one is foretold as of any other branch. */
	if (step->operation->conditional && kind != BRANCH_IF)
		right = predictor_was_right(&core->predictor, step->place, BRANCH_IF, step->next, step->behind);
	if (!step->operation->conditional || kind == BRANCH_IF || taken)
		right &= predictor_was_right(&core->predictor, step->place, kind, step->next, step->behind);

	if (!right)
		go_on_at(core, decided + table->mispredict, CAUSE_MISPREDICT);
	else if (taken)
		go_on_at(core,
			 core->fetch + 1 +
				 (kind == BRANCH_RETURN || kind == BRANCH_CALL ? table->call_taken : table->taken),
			 CAUSE_FETCH);
}
