/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Out of order: each instruction is taken into the window in its order, waits in a queue until its operands are there,
 * takes the first cycle in which a port for it is free, and leaves the window in its order. Older instructions choose
 * first; no instruction is looked at twice.
 */
#include <string.h>

#include "core.h"

/* What one instruction goes through. */
struct passage {
	const struct timing *timing;
	uint64_t ready;    /* its operands are there */
	uint64_t data;     /* for a store: what it writes is there */
	uint64_t dispatch; /* it is in the window */
	uint64_t issue;    /* its last micro-operation went to a port */
	uint64_t done;
	enum cause waited; /* for which operand */
};

static void operands(const struct core *core, const struct operation *operation, struct passage *passage)
{
	passage->waited = CAUSE_DEPENDENCY;
	for (unsigned int i = 0; i < operation->sources; i++) {
		const struct value *value = &core->values[operation->source[i]];
		uint64_t ready = value->ready;

		if (operation->role[i] == ROLE_ACCUMULATE && value->group && value->group == passage->timing->group)
			ready = value->added;
		else if (operation->role[i] == ROLE_VALUE && value->cause == CAUSE_MEMORY)
			ready = ready > passage->timing->early ? ready - passage->timing->early : 0;
		else if (value->gives && passage->timing->takes && !(value->gives & passage->timing->takes))
			ready++; /* it comes from another region of the vectors' pipes */
		if (operation->role[i] == ROLE_DATA && passage->timing->second) {
			if (ready > passage->data)
				passage->data = ready;
		} else if (ready > passage->ready) {
			passage->ready = ready;
			passage->waited = value->cause;
		}
	}
}

/* What was issued after one cycle and not after another is no longer in its queue. */
static void leave_queues(struct core *core, uint64_t before, uint64_t cycle)
{
	/* What waits longer than slots are kept was not counted: see enter_queue(). */
	if (cycle - before >= CYCLES_KEPT) {
		memset(core->waiting, 0, sizeof(core->waiting));
		return;
	}
	while (before++ < cycle) {
		const struct slot *slot = &core->slots[before % CYCLES_KEPT];

		if (slot->cycle == before)
			for (unsigned int port = 0; port < MOST_PORTS; port++)
				core->waiting[port] = (uint8_t)(core->waiting[port] - slot->leaves[port]);
	}
}

static void next_dispatch_cycle(struct core *core, uint64_t cycle)
{
	if (cycle <= core->dispatch)
		return;
	leave_queues(core, core->dispatch, cycle);
	core->dispatch = cycle;
	core->dispatched = 0;
	memset(core->of_limit, 0, sizeof(core->of_limit));
}

static void enter_queue(struct core *core, unsigned int port, uint64_t issue)
{
	if (issue - core->dispatch >= CYCLES_KEPT)
		return;
	core->waiting[port]++;
	core_slot(core, issue)->leaves[port]++;
}

/* The limit that a micro-operation falls under; the number of limits if none. */
static unsigned int limit_of(const struct table *table, uint16_t ports)
{
	unsigned int at = 0;

	while (at < table->limit_count && (ports & ~table->limits[at].ports))
		at++;
	return at;
}

/* The port in whose queue a micro-operation waits: the one with the fewest there. */
static unsigned int choose_port(const struct core *core, uint16_t ports)
{
	unsigned int chosen = MOST_PORTS;

	for (unsigned int port = 0; ports; port++, ports >>= 1)
		if ((ports & 1) && (chosen == MOST_PORTS || core->waiting[port] < core->waiting[chosen]))
			chosen = port;
	return chosen;
}

/* The first cycle from `from` in which a port takes the micro-operation and a bus its result; it is taken. */
static uint64_t take_port(struct core *core, const struct timing *timing, uint16_t ports, uint64_t from,
			  unsigned int latency)
{
	for (uint64_t cycle = from;; cycle++) {
		uint16_t open = (uint16_t)(ports & ~core_slot(core, cycle)->ports);
		struct slot *result = core->table->buses ? core_slot(core, cycle + latency) : NULL;

		for (unsigned int later = 1; open && later < timing->busy; later++)
			open &= (uint16_t)~core_slot(core, cycle + later)->ports;
		if (result)
			open &= (uint16_t)~result->buses;
		if (!open)
			continue;
		open = (uint16_t)(open & (~open + 1u)); /* the first of them */
		for (unsigned int later = 0; later < timing->busy; later++)
			core_slot(core, cycle + later)->ports |= open;
		if (result)
			result->buses |= open;
		return cycle;
	}
}

/* One micro-operation: into the window and a queue, then to a port. Returns when it is issued. */
static uint64_t micro(struct core *core, struct passage *passage, uint16_t ports, uint64_t ready, unsigned int latency)
{
	const struct table *table = core->table;
	unsigned int at = limit_of(table, ports);
	const struct limit *limit = &table->limits[at];
	unsigned int port = MOST_PORTS;
	uint64_t issue;

	if (core->dispatched >= table->width)
		next_dispatch_cycle(core, core->dispatch + 1);
	if (at < table->limit_count) {
		if (limit->queue) {
			port = choose_port(core, ports);
			if (table->bind)
				ports = (uint16_t)(1u << port);
			while (core->waiting[port] >= limit->queue)
				next_dispatch_cycle(core, core->dispatch + 1);
		}
		if (limit->most && core->of_limit[at] >= limit->most)
			next_dispatch_cycle(core, core->dispatch + 1);
		core->of_limit[at]++;
	}
	core->dispatched++;
	passage->dispatch = core->dispatch;
	if (ready <= core->dispatch)
		ready = core->dispatch + 1;
	issue = take_port(core, passage->timing, ports, ready, latency);
	if (port < MOST_PORTS)
		enter_queue(core, port, issue);
	return issue;
}

static void leave_window(struct core *core, uint64_t done)
{
	const struct table *table = core->table;

	if (done > core->retire_cycle) {
		core->retire_cycle = done;
		core->retired = 0;
	} else if (core->retired >= table->retire) {
		core->retire_cycle++;
		core->retired = 0;
	}
	core->retired++;
	core->window[core->window_at] = core->retire_cycle;
	core->window_at = (core->window_at + 1) % table->window;
}

static void results(struct core *core, const struct operation *operation, const struct passage *passage)
{
	const struct timing *timing = passage->timing;
	unsigned int last = operation->results;
	struct value value = { .ready = passage->done,
			       .added = timing->group ? passage->done - timing->latency + timing->forward
						      : passage->done,
			       .group = timing->group,
			       .gives = timing->gives,
			       .cause = (uint8_t)core_cause(timing, operation) };

	if (operation->base_result) {
		last--;
		core->values[operation->result[last]] = (struct value){
			.ready = passage->ready + core->table->writeback_latency, .cause = CAUSE_DEPENDENCY
		};
		if (passage->dispatch + 1 > passage->ready)
			core->values[operation->result[last]].ready = passage->dispatch + 1 +
								      core->table->writeback_latency;
	}
	for (unsigned int i = 0; i < last; i++)
		core->values[operation->result[i]] = value;
	if (last == 2 && timing->second_latency)
		core->values[operation->result[1]].ready = passage->done - timing->latency + timing->second_latency;
}

static void execute(struct core *core, const struct step *step, struct passage *passage)
{
	const struct operation *operation = step->operation;
	const struct timing *timing = passage->timing;
	bool load = operation->moves && !operation->store;
	unsigned int count = core_moves(step, timing);
	uint64_t issue = 0;

	if (operation->store)
		count += core_store_crosses(core, step);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t time;

		next_dispatch_cycle(core, core->window[core->window_at]);
		time = micro(core, passage, timing->ports, passage->ready, timing->latency);
		if (time > issue)
			issue = time;
		if (timing->second && load) { /* the vectors' part of a load, behind the other */
			micro(core, passage, timing->second, time + timing->latency - 2, 1);
		} else if (timing->second) {
			uint64_t data = micro(core, passage, timing->second, passage->data, 1);

			if (data > passage->data)
				passage->data = data;
		}
		if (i + 1 < count)
			leave_window(core, time + 1);
	}
	if (operation->base_result && core->table->writeback)
		micro(core, passage, (uint16_t)core->table->writeback, passage->ready, 1);
	passage->issue = issue;
	passage->done = load ? core_load(core, step, timing, issue) : issue + timing->latency;
	if (!operation->store)
		return;
	/* With a micro-operation of its own the data may come later than the address; else they come together. */
	if (!timing->second)
		passage->data = passage->done;
	else if (passage->data > passage->done)
		passage->done = passage->data;
}

static enum cause why(const struct core *core, const struct operation *operation, const struct passage *passage,
		      bool stalled)
{
	if (passage->ready > passage->dispatch + 1)
		return passage->waited;
	if (passage->issue > passage->dispatch + 1)
		return passage->timing->multiplies ? CAUSE_MULTIPLIER : CAUSE_ISSUE;
	if (stalled && core->redirected == passage->dispatch)
		return core->redirect_cause;
	return passage->timing->latency > 1 ? core_cause(passage->timing, operation) : CAUSE_ISSUE;
}

enum cause outorder_step(struct core *core, const struct step *step)
{
	const struct operation *operation = step->operation;
	struct passage passage = { .timing = timing_of(core->table, operation) };
	uint64_t fetch = core_fetch(core, step);
	bool stalled = fetch > core->dispatch;
	enum cause cause;

	next_dispatch_cycle(core, fetch);
	operands(core, operation, &passage);
	if (!passage.timing->ports) { /* nothing to execute: a hint, a move that renaming does */
		next_dispatch_cycle(core, core->window[core->window_at]);
		if (core->dispatched >= core->table->width)
			next_dispatch_cycle(core, core->dispatch + 1);
		core->dispatched++;
		passage.dispatch = core->dispatch;
		passage.issue = passage.ready > passage.dispatch ? passage.ready : passage.dispatch;
		passage.done = passage.issue + passage.timing->latency;
	} else {
		execute(core, step, &passage);
	}
	results(core, operation, &passage);
	leave_window(core, passage.done);
	if (operation->store)
		core_store(core, step, passage.data, core->retire_cycle);
	cause = why(core, operation, &passage, stalled);
	if (operation->branch)
		core_branch(core, step, passage.done);
	core->clock = core->retire_cycle;
	return cause;
}
