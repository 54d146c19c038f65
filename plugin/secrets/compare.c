/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare.h"

#define MOST_DEPTH 256
/* Runs of each side in which a place to join is looked for. */
#define MOST_RUNS 65536
#define STEP 2

/* The addresses that the functions return to which were called and have not returned. */
struct callers {
	uint64_t returns[MOST_DEPTH];
	size_t depth;
};

/* One of the two calls, and how far it is followed. */
struct side {
	const struct stream *stream;
	size_t run;
	uint64_t at;
	size_t access; /* the next one */
};

struct comparison {
	const struct program *program;
	on_parting *tell;
	void *context;
	struct side sides[2]; /* the reference, the other */
	struct callers callers;
	bool after;
	struct map seen[2];
};

static const struct function *function_at(const struct program *program, uint64_t address)
{
	size_t low = 0;
	size_t high = program->function_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (address < program->functions[middle].start)
			high = middle;
		else if (address >= program->functions[middle].end)
			low = middle + 1;
		else
			return &program->functions[middle];
	}
	return NULL;
}

/*
 * A branch that ends before `behind` goes to `target`. To an address that a caller waits at, it is a return; to the start of
 * another function, a call. A tail call looks like a call; its frame goes with the next return.
 */
static void follow_branch(const struct program *program, struct callers *callers, uint64_t behind, uint64_t target)
{
	const struct function *function;

	for (size_t depth = callers->depth; depth; depth--)
		if (callers->returns[depth - 1] == target) {
			callers->depth = depth - 1;
			return;
		}
	function = function_at(program, target);
	if (function && target == function->start && (behind <= function->start || behind > function->end) &&
	    callers->depth < MOST_DEPTH)
		callers->returns[callers->depth++] = behind;
}

static bool ended(const struct side *side)
{
	return side->run == side->stream->run_count;
}

/* To the start of the next run. */
static void next_run(struct side *side)
{
	side->run++;
	if (ended(side))
		return;
	side->at = side->stream->runs[side->run].start;
	side->access = side->stream->runs[side->run].first_access;
}

/* The same, with the calls and returns on the way. */
static void follow_run(const struct program *program, struct side *side, struct callers *callers)
{
	uint64_t behind = run_end(side->stream, side->run);

	next_run(side);
	if (!ended(side))
		follow_branch(program, callers, behind, side->at);
}

static void tell(struct comparison *it, struct parting parting)
{
	parting.after = it->after;
	parting.callers = it->callers.returns;
	parting.depth = it->callers.depth;
	it->tell(it->context, &parting);
}

static bool has_access(const struct side *side, uint64_t until)
{
	return side->access < run_last_access(side->stream, side->run) &&
	       access_pc(side->stream, side->run, side->access) < until;
}

/* The accesses of the instructions up to `until`, which both execute. */
static void compare_accesses(struct comparison *it, uint64_t until)
{
	struct side *a = &it->sides[0];
	struct side *b = &it->sides[1];

	while (has_access(a, until) || has_access(b, until)) {
		uint64_t pc_a = has_access(a, until) ? access_pc(a->stream, a->run, a->access) : UINT64_MAX;
		uint64_t pc_b = has_access(b, until) ? access_pc(b->stream, b->run, b->access) : UINT64_MAX;
		struct parting parting = { .joined = true, .pc = pc_a < pc_b ? pc_a : pc_b };

		if (pc_a <= pc_b)
			parting.reference = access_address(a->stream, a->access++);
		if (pc_b <= pc_a)
			parting.other = access_address(b->stream, b->access++);
		parting.kind = pc_a == pc_b ? KIND_ADDRESS : KIND_MADE;
		if (pc_a == pc_b && parting.reference == parting.other)
			continue;
		parting.before = stream_position(a->stream, a->run, parting.pc, it->program->instructions);
		tell(it, parting);
	}
}

/* What a place is called by: the address, in a call so deep. */
static uint64_t place_key(uint64_t address, size_t depth)
{
	return address * (MOST_DEPTH + 1) + depth;
}

/* Looks for the instructions of a side's run among those that the other side has come to. */
static bool meet(struct comparison *it, int number, struct side *side, struct side *other, size_t depth)
{
	uint64_t end = run_end(side->stream, side->run);

	for (uint64_t at = side->at; at < end; at += STEP) {
		uint64_t key = place_key(at, depth);
		const uint64_t *run = map_get(&it->seen[!number], key);

		if (run) {
			other->run = (size_t)*run;
			other->at = side->at = at;
			return true;
		}
		if (!map_get(&it->seen[number], key))
			map_put(&it->seen[number], key, side->run);
	}
	return false;
}

static void skip_accesses(struct side *side)
{
	side->access = side->stream->runs[side->run].first_access;
	while (has_access(side, side->at))
		side->access++;
}

static uint32_t position(const struct comparison *it, const struct side *side)
{
	return ended(side) ? side->stream->instructions
			   : stream_position(side->stream, side->run, side->at, it->program->instructions);
}

/*
 * Both sides have parted, and go on to where they join; false if they are not seen to. `callers` are each side's. A place in
 * a function that was called since does not count: it may be called again and again.
 */
static bool join(struct comparison *it, struct callers callers[2])
{
	size_t depth = it->callers.depth;

	map_empty(&it->seen[0]);
	map_empty(&it->seen[1]);
	for (int i = 0; i < MOST_RUNS && !(ended(&it->sides[0]) && ended(&it->sides[1])); i++)
		for (int number = 0; number < 2; number++) {
			struct side *side = &it->sides[number];

			if (ended(side))
				continue;
			if (callers[number].depth <= depth &&
			    meet(it, number, side, &it->sides[!number], callers[number].depth)) {
				it->callers = callers[number];
				skip_accesses(&it->sides[0]);
				skip_accesses(&it->sides[1]);
				return true;
			}
			follow_run(it->program, side, &callers[number]);
		}
	return ended(&it->sides[0]) && ended(&it->sides[1]);
}

/* The instruction before an address. */
static uint64_t last_before(const struct program *program, uint64_t behind)
{
	return map_get(program->instructions, behind - STEP) ? behind - STEP : behind - 2 * STEP;
}

/* The flow parts at the instruction before `behind`: a side whose run ends there has taken the branch. */
static bool part(struct comparison *it, uint64_t behind)
{
	struct callers callers[2] = { it->callers, it->callers };
	struct callers here = it->callers;
	struct parting parting = { .kind = KIND_FLOW, .pc = last_before(it->program, behind) };
	uint32_t began[2];

	for (int number = 0; number < 2; number++) {
		struct side *side = &it->sides[number];

		side->at = behind;
		began[number] = position(it, side);
		if (run_end(side->stream, side->run) == behind)
			follow_run(it->program, side, &callers[number]);
	}
	parting.before = began[0];
	parting.reference = ended(&it->sides[0]) ? 0 : it->sides[0].at;
	parting.other = ended(&it->sides[1]) ? 0 : it->sides[1].at;
	parting.joined = join(it, callers);
	parting.reference_instructions = position(it, &it->sides[0]) - began[0];
	parting.other_instructions = position(it, &it->sides[1]) - began[1];
	/* It is told of with its own callers, not with those of where the sides join. */
	callers[0] = it->callers;
	it->callers = here;
	tell(it, parting);
	it->callers = callers[0];
	it->after = true;
	return parting.joined;
}

/* Where the next run begins; 0 if there is none. */
static uint64_t next_start(const struct side *side)
{
	return side->run + 1 < side->stream->run_count ? side->stream->runs[side->run + 1].start : 0;
}

/* Up to the end of the shorter run of the two; false if nothing behind can be compared. */
static bool compare_run(struct comparison *it)
{
	struct side *a = &it->sides[0];
	struct side *b = &it->sides[1];
	uint64_t end_a = run_end(a->stream, a->run);
	uint64_t end_b = run_end(b->stream, b->run);
	uint64_t end = end_a < end_b ? end_a : end_b;
	compare_accesses(it, end);
	if (end_a != end_b || next_start(a) != next_start(b))
		return part(it, end);
	follow_run(it->program, a, &it->callers);
	next_run(b);
	return true;
}

static void begin(struct side *side, const struct stream *stream)
{
	*side = (struct side){ .stream = stream, .at = stream->runs[0].start };
}

void compare_streams(const struct stream *reference, const struct stream *other, const struct program *program,
		     on_parting *tell, void *context)
{
	struct comparison it = { .program = program, .tell = tell, .context = context };

	if (!reference->run_count || !other->run_count)
		return;
	begin(&it.sides[0], reference);
	begin(&it.sides[1], other);
	while (!ended(&it.sides[0]) && !ended(&it.sides[1]))
		if (!compare_run(&it))
			break;
	map_free(&it.seen[0]);
	map_free(&it.seen[1]);
}
