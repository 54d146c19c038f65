/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In order, one or two instructions a cycle. An instruction is issued no sooner than the one before it, when its code has
 * come, when its operands will be there at the stage that needs them, and beside another only if both may be together.
 * Simple instructions execute a stage sooner, if their operands are there for it. docs/how/models-mcu.md says where each
 * rule comes from.
 */
#include "dual.h"

#include <string.h>

#include "wait.h"

struct issue {
	const struct operation *operation;
	const struct dual_class *class;
	uint64_t pc;
	uint64_t behind; /* where the next one stands */
	uint64_t next;   /* where the core goes on */
	const struct access *accesses;
	size_t count;
	uint8_t late; /* LATE_*: reasons that can matter to it */
};

/* The power of two that a number is. */
static uint32_t bits_of(uint32_t value)
{
	uint32_t bits = 0;

	while (value >> bits > 1)
		bits++;
	return bits;
}

void dual_forget(struct dual *dual)
{
	const struct dual_numbers *numbers = &dual->numbers;

	memset(dual->values, 0, sizeof(dual->values));
	memset(dual->left, 0, sizeof(dual->left));
	memset(dual->free, 0, sizeof(dual->free));
	dual->now = 0;
	dual->issued = dual->numbers.width;
	dual->units = 0;
	dual->emptied = true;
	dual->block = UINT64_MAX;
	dual->fetched = 0;
	dual->blocks = 0;
	memset(dual->stored, 0, sizeof(dual->stored));
	dual->stores = 0;
	dual->stored_until = 0;
	dual->bus = 0;
	predictor_forget(&dual->predictor, 0);
	flash_forget(&dual->flash);
	/* A flash of a board's file, which waits, stands in the place of the core's caches. */
	dual->fill = (struct dual_fill){ .line_bytes = dual->flash.wait ? 0 : numbers->line_bytes,
					 .line_bits = bits_of(numbers->line_bytes),
					 .first = numbers->line_first,
					 .bus_bits = bits_of(numbers->bus_bytes),
					 .bus_cycles = numbers->bus_cycles };
	dual->fetch_bits = bits_of(numbers->fetch_bytes);
	for (unsigned int i = 0; i < CLASS_COUNT; i++)
		dual->classes[i].late = (uint8_t)((dual->classes[i].multiplies ? LATE_PRODUCT : 0) |
						  (dual->classes[i].quick ? LATE_WORD : 0) |
						  (i == CLASS_reverse ? LATE_REVERSED : 0));
	dual_cache_forget(&dual->code_cache, &dual->fill, numbers->code_kib, numbers->code_ways);
	dual_cache_forget(&dual->data_cache, &dual->fill, numbers->data_kib, numbers->data_ways);
}

static enum cause cause_of(const struct issue *issue)
{
	if (issue->operation->moves && !issue->operation->store)
		return CAUSE_MEMORY;
	return issue->class->multiplies ? CAUSE_MULTIPLIER : CAUSE_DEPENDENCY;
}

/* When what lies at an address is there, asked for at `now`: the flash alone is behind caches. */
static uint64_t through(struct dual *dual, struct dual_cache *cache, uint64_t address, uint64_t now)
{
	if (!dual->fill.line_bytes || address >= FLASH_END)
		return now;
	return dual_cache_when(cache, &dual->fill, address, now, &dual->bus);
}

/*
 * When the code of an instruction is there. A block comes each cycle, as long as fewer than the queue holds wait; behind
 * a branch that was foretold the next block is its target's.
 */
static uint64_t fetch(struct dual *dual, const struct issue *issue)
{
	uint32_t bits = dual->fetch_bits;
	uint64_t first = issue->pc >> bits;
	uint64_t last = (issue->pc + issue->operation->bytes - 1) >> bits;

	if (!dual->numbers.fetch_bytes)
		return 0;
	if (dual->emptied) {
		/* What a wrong guess costs has this block in it. */
		dual->block = first;
		dual->fetched = through(dual, &dual->code_cache, issue->pc, dual->now);
	}
	for (; first <= last; first++) {
		uint64_t room;

		if (first == dual->block)
			continue;
		dual->left[dual->blocks++ % DUAL_QUEUE] = dual->now;
		room = dual->left[(dual->blocks - dual->numbers.fetch_queue) % DUAL_QUEUE];
		dual->fetched = dual->fetched + 1 > room ? dual->fetched + 1 : room;
		dual->fetched = through(dual, &dual->code_cache, first << bits, dual->fetched);
		dual->block = first;
	}
	return dual->fetched;
}

/* How much later than others an instruction gets what has such a reason to be late. */
static uint32_t later(const struct dual *dual, const struct operation *operation, unsigned int at, uint8_t late)
{
	uint32_t cycles = 0;

	if (late & LATE_PRODUCT && operation->role[at] == ROLE_ADDRESS)
		cycles += dual->numbers.product_address;
	if (late & LATE_WORD && operation->index == operation->source[at] + 1u)
		cycles += dual->numbers.index_late;
	/* What an instruction made that a condition could leave out comes late to those outside that block. */
	if (late & LATE_CONDITIONAL && !operation->conditional)
		cycles += dual->numbers.conditional_late;
	return cycles;
}

/* When an operand will be there, for an instruction that needs it so many cycles after its issue. */
static inline uint64_t operand(const struct dual *dual, const struct issue *issue, unsigned int at, unsigned int need)
{
	const struct dual_value *value = &dual->values[issue->operation->source[at]];
	uint64_t ready = value->ready + (value->quick && need && issue->class->bypassed ? 1 : 0);

	if (value->late & issue->late)
		ready += later(dual, issue->operation, at, value->late);
	return ready > need ? ready - need : 0;
}

static void operands(const struct dual *dual, const struct issue *issue, struct wait *wait)
{
	const struct operation *operation = issue->operation;

	for (unsigned int i = 0; i < operation->sources; i++) {
		const struct dual_value *value = &dual->values[operation->source[i]];
		unsigned int need;
		uint64_t ready;

		/* A branch is foretold: it waits for no flags. */
		if (operation->branch && operation->source[i] == REGISTER_FLAGS)
			continue;
		need = issue->class->need[operation->role[i]];
		ready = operand(dual, issue, i, need);
		if (value->late & LATE_REVERSED && !need)
			ready += dual->numbers.reverse_late;
		wait_for(wait, ready, (enum cause)value->cause);
	}
}

/* Two loads read one bank at a time: two words in a row are in two. */
static uint64_t bank_of(const struct dual *dual, const struct issue *issue)
{
	return issue->count && dual->numbers.banks ? issue->accesses[0].address / 4 & (dual->numbers.banks - 1)
						   : UINT64_MAX;
}

static bool is_load(const struct issue *issue)
{
	return issue->operation->moves && !issue->operation->store;
}

/* Whether it is issued beside the one before, as far as both are what they are. */
static bool goes_beside(const struct dual *dual, const struct issue *issue)
{
	const struct dual_class *class = issue->class;
	bool narrow = issue->operation->bytes == 2;

	if (dual->issued >= dual->numbers.width || class->first || class->alone || class->cycles > 1 ||
	    class->together || dual->units & (class->seconds ? class->second : class->units))
		return false;
	if (dual->numbers.narrow_pairs && (!narrow || !dual->narrow || !(dual->pairs || class->pairs)))
		return false;
	return !is_load(issue) || !dual->loads || bank_of(dual, issue) == UINT64_MAX ||
	       bank_of(dual, issue) != dual->bank;
}

/* Cycles that it keeps others from being issued, with its own. */
static uint64_t length(const struct dual *dual, const struct issue *issue)
{
	const struct dual_class *class = issue->class;
	uint64_t cycles = class->cycles ? class->cycles : 1;

	if (class->together && issue->operation->moves)
		cycles += (issue->operation->moves + class->together - 1u) / class->together - 1u;
	/* Pairs of words that are stored across two double words take a cycle more in all. */
	if (class->together && issue->operation->store && issue->count && dual->numbers.aligned_pairs &&
	    issue->operation->moves % 2 == 0 && issue->accesses[0].address % dual->numbers.aligned_pairs)
		cycles++;
	for (size_t i = 0; i < issue->count && dual->numbers.unaligned; i++)
		if (!issue->accesses[i].store && issue->accesses[i].address & (issue->accesses[i].bytes - 1u))
			cycles += dual->numbers.unaligned;
	return cycles;
}

/* When the units of a vector's beats take another. Each beat of the second follows one of the first. */
static uint64_t units_free(const struct dual *dual, const struct issue *issue)
{
	uint64_t free = 0;

	for (unsigned int unit = 0; issue->class->busy && unit < DUAL_UNITS; unit++)
		if (issue->class->units >> unit & 1 && dual->free[unit] > free)
			free = dual->free[unit];
	return free;
}

static void keep_units(struct dual *dual, const struct issue *issue, uint64_t cycle)
{
	for (unsigned int unit = 0; issue->class->busy && unit < DUAL_UNITS; unit++)
		if (issue->class->units >> unit & 1)
			dual->free[unit] = cycle + issue->class->busy;
}

static bool is_early(const struct dual *dual, const struct issue *issue, uint64_t cycle, bool second)
{
	const struct operation *operation = issue->operation;

	if (!issue->class->early || (second && (issue->class->early < 2 || dual->units & issue->class->units)))
		return false;
	for (unsigned int i = 0; i < operation->sources; i++)
		if (operand(dual, issue, i, 0) > cycle)
			return false;
	return true;
}

static void results(struct dual *dual, const struct issue *issue, uint64_t cycle, bool early)
{
	const struct operation *operation = issue->operation;
	const struct dual_class *class = issue->class;
	unsigned int last = operation->results;
	struct dual_value value = { .ready = cycle + class->latency - (early ? 1u : 0u),
				    .cause = (uint8_t)cause_of(issue),
				    .quick = class->quick,
				    .late = class->late | (operation->conditional ? LATE_CONDITIONAL : 0) };

	if (operation->base_result) {
		last--;
		dual->values[operation->result[last]] = (struct dual_value){
			.ready = cycle + dual->numbers.writeback_latency, .cause = CAUSE_DEPENDENCY
		};
	}
	for (unsigned int i = 0; i < last; i++) {
		struct dual_value *of = &dual->values[operation->result[i]];

		*of = value;
		if (class->together)
			of->ready += i / class->together;
		if (operation->result[i] >= REGISTER_FLAGS)
			of->ready = cycle + dual->numbers.flags_latency;
	}
}

/* Where the front end goes on. */
static void branch(struct dual *dual, const struct issue *issue, uint64_t cycle, struct spent *spent)
{
	const struct dual_numbers *numbers = &dual->numbers;
	/*
	 * Arm DDI 0489, of the prefetch unit, has a cache of branch targets and no stack of returns, where that of the
	 * Cortex-R4 (DDI 0363) has both: so a return is foretold to go where it went last.
	 */
	bool returns = issue->operation->branch == BRANCH_RETURN;
	enum branch_kind kind = returns ? BRANCH_JUMP : issue->operation->branch;
	/* A core without a predictor goes on behind the branch, and loses `taken` cycles each time. */
	bool right = !numbers->mispredict ||
		     predictor_was_right(&dual->predictor, issue->pc << 1, kind, issue->next, issue->behind);
	bool taken = issue->next != issue->behind;
	uint64_t flags = dual->values[REGISTER_FLAGS].ready - numbers->flags_latency;
	uint64_t cost = right ? taken ? numbers->taken : 0 : numbers->mispredict;

	if (!right && issue->operation->branch == BRANCH_IF && flags + numbers->flags_ahead <= cycle)
		cost = numbers->mispredict_early;
	if (!right)
		dual->emptied = true;
	if (!cost)
		return;
	dual->now += cost;
	dual->issued = numbers->width;
	spent->cycles[right ? CAUSE_FETCH : CAUSE_MISPREDICT] += cost;
}

static void wait_for_flash(struct dual *dual, const struct issue *issue, struct spent *spent)
{
	uint64_t wait = flash_fetch(&dual->flash, issue->pc, issue->operation->bytes, dual->now);

	spent->cycles[CAUSE_FETCH] += wait;
	dual->now += wait;
	for (size_t i = 0; i < issue->count; i++) {
		const struct access *access = &issue->accesses[i];

		if (access->store)
			continue;
		wait = flash_load(&dual->flash, access->address, access->bytes, dual->now);
		spent->cycles[CAUSE_MEMORY] += wait;
		dual->now += wait;
	}
}

/* A word that was stored is not there for a load at once. */
static void wait_for_stores(const struct dual *dual, const struct issue *issue, struct wait *wait)
{
	if (dual->stored_until <= wait->until || !is_load(issue))
		return;
	for (size_t i = 0; i < issue->count; i++) {
		uint64_t word = issue->accesses[i].address / 4 + 1;

		/* Back from the last, until one that a load can have. */
		for (uint32_t j = 1; j <= DUAL_STORES; j++) {
			const struct dual_store *stored = &dual->stored[(dual->stores - j) % DUAL_STORES];

			if (stored->ready <= wait->until)
				break;
			if (stored->word == word)
				wait_for(wait, stored->ready, CAUSE_MEMORY);
		}
	}
}

static void remember_stores(struct dual *dual, const struct issue *issue, uint64_t cycle)
{
	uint32_t together = issue->class->together ? issue->class->together : 1;

	if (!dual->numbers.store_to_load || !issue->operation->store)
		return;
	for (size_t i = 0; i < issue->count; i++) {
		dual->stored_until = cycle + i / together + dual->numbers.store_to_load;
		dual->stored[dual->stores++ % DUAL_STORES] = (struct dual_store){
			.word = issue->accesses[i].address / 4 + 1, .ready = dual->stored_until
		};
	}
}

/* How long a load that is issued at a cycle waits for lines that are not in the cache. */
static uint64_t wait_for_lines(struct dual *dual, const struct issue *issue, uint64_t cycle)
{
	uint64_t there = cycle;

	if (dual->fill.line_bytes)
		for (size_t i = 0; i < issue->count; i++)
			if (!issue->accesses[i].store)
				there = through(dual, &dual->data_cache, issue->accesses[i].address, there);
	return there - cycle;
}

static void take(struct dual *dual, const struct issue *issue, struct spent *spent)
{
	struct wait wait = { .until = dual->now, .cause = CAUSE_ISSUE };
	uint64_t begun = dual->now;
	uint64_t cycles = length(dual, issue);
	uint64_t lines;
	bool beside;
	bool early;

	if (dual->flash.wait)
		wait_for_flash(dual, issue, spent);
	wait.until = dual->now;
	wait_for(&wait, fetch(dual, issue), CAUSE_FETCH);
	operands(dual, issue, &wait);
	wait_for_stores(dual, issue, &wait);
	wait_for(&wait, units_free(dual, issue), issue->class->multiplies ? CAUSE_MULTIPLIER : CAUSE_ISSUE);
	beside = wait.until == dual->now && begun == dual->now && goes_beside(dual, issue);
	if (!beside)
		wait_for(&wait, dual->now + 1, CAUSE_ISSUE);
	early = is_early(dual, issue, wait.until, beside);
	spent->cycles[wait.cause] += wait.until - dual->now;
	if (!beside) {
		dual->issued = 0;
		dual->units = 0;
		dual->loads = false;
		dual->narrow = issue->operation->bytes == 2;
		dual->pairs = issue->class->pairs;
	}
	dual->units |= beside && issue->class->seconds ? issue->class->second : issue->class->units;
	if (is_load(issue)) {
		dual->loads = true;
		dual->bank = bank_of(dual, issue);
	}
	dual->issued++;
	keep_units(dual, issue, wait.until);
	remember_stores(dual, issue, wait.until);
	lines = wait_for_lines(dual, issue, wait.until);
	spent->cycles[CAUSE_MEMORY] += lines;
	dual->emptied = false;
	results(dual, issue, wait.until + lines + (issue->class->together ? 0 : cycles - 1), early);
	spent->cycles[cause_of(issue) == CAUSE_DEPENDENCY ? CAUSE_ISSUE : cause_of(issue)] += cycles - 1;
	dual->now = wait.until + lines + cycles - 1;
	if (issue->class->alone || cycles > 1 || lines)
		dual->issued = dual->numbers.width;
	if (issue->operation->branch)
		branch(dual, issue, wait.until, spent);
	if (!issue->class->known || issue->class->outside)
		spent->outside += dual->now - begun;
}

static uint8_t late_for(const struct operation *operation)
{
	return (uint8_t)((operation->conditional ? 0 : LATE_CONDITIONAL) | (operation->index ? LATE_WORD : 0) |
			 (operation->moves ? LATE_PRODUCT : 0));
}

void dual_run(struct dual *dual, uint64_t pc, const struct operation *operations, uint32_t instructions,
	      const struct access *accesses, size_t count, uint64_t next, struct spent *spent)
{
	static const struct dual_class unknown = { .latency = 1 };
	size_t done = 0;

	for (uint32_t i = 0; i < instructions; i++) {
		const struct operation *operation = &operations[i];
		const struct dual_class *class = &dual->classes[operation->class];
		size_t first = done;
		struct issue issue = { .operation = operation,
				       .class = class->known ? class : &unknown,
				       .pc = pc,
				       .behind = pc + operation->bytes,
				       .late = late_for(operation) };

		while (done < count && accesses[done].instruction <= i)
			done++;
		issue.accesses = accesses + first;
		issue.count = done - first;
		issue.next = i + 1 == instructions ? next : issue.behind;
		if (!class->known || class->outside)
			spent->outside_instructions++;
		take(dual, &issue, spent);
		pc = issue.behind;
	}
}
