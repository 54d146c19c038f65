/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A core in order, one instruction at a time. An instruction begins when the one before lets it, its operands are there and the instruction
 * itself has come; it takes its class's cycles. All the rest are rules between neighbours. docs/how/models-mcu.md
 * says where each comes from.
 */
#include "mcu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcu_core.h"
#include "operation.h"

#define FLAGS 16u
#define FLOATS 17u
/* Armv7-M puts code and RAM into regions of 512 MiB: what is stored in one does not hide behind a load from another. */
#define BLOCK_BITS 29u

struct mcu_code {
	uint64_t pc;
	uint32_t instructions;
	uint64_t *addresses; /* of each instruction, and behind the last */
	struct t32_op *ops;
};

/* An instruction on its way. */
struct step {
	const struct t32_op *op;
	const struct mcu_class *class;
	uint64_t address;
	const struct access *accesses;
	size_t count;
	bool taken;
	uint64_t target; /* executed next */
	struct spent *spent;
};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		perror("model");
		abort();
	}
	return memory;
}

struct mcu_code *mcu_decode(uint64_t pc, const uint8_t *bytes, uint32_t instructions)
{
	struct mcu_code *code = allocate(1, sizeof(*code));
	unsigned int if_then = 0;

	code->pc = pc;
	code->instructions = instructions;
	code->addresses = allocate(instructions + 1u, sizeof(*code->addresses));
	code->ops = allocate(instructions + 1u, sizeof(*code->ops));
	code->addresses[0] = pc;
	for (uint32_t i = 0; i < instructions; i++) {
		const uint8_t *at = bytes + (code->addresses[i] - pc);

		t32_decode(at, &code->ops[i]);
		/* Behind IT the narrow ones set no flags, but for comparisons. */
		if (if_then && code->ops[i].bytes == 2 && code->ops[i].written)
			code->ops[i].sets_flags = false;
		if_then = if_then ? if_then - 1 : t32_if_then(at);
		code->addresses[i + 1] = code->addresses[i] + code->ops[i].bytes;
	}
	return code;
}

void mcu_forget(struct mcu *mcu)
{
	mcu->now = 0;
	mcu->before = (struct mcu_before){ .class = T32_ALU, .jumped = true };
	memset(mcu->ready, 0, sizeof(mcu->ready));
	memset(mcu->why, 0, sizeof(mcu->why));
	flash_forget(&mcu->flash);
}

static void pass(struct mcu *mcu, const struct step *step, enum cause cause, uint64_t cycles)
{
	mcu->now += cycles;
	step->spent->cycles[cause] += cycles;
	if (!step->class->known || step->class->outside)
		step->spent->outside += cycles;
}

static bool is_memory(enum t32_class class)
{
	return class == T32_LOAD || class == T32_STORE || class == T32_LOADS || class == T32_STORES ||
	       class == T32_EXCLUSIVE || class == T32_TABLE;
}

static bool is_product(enum t32_class class)
{
	return (class >= T32_MUL && class <= T32_DIV) || (class >= T32_FPMUL && class <= T32_FPDIV) ||
	       class == T32_DOUBLE;
}

/* What a class's cycles but the first, and waits for its result, go on. */
static enum cause cause_of(enum t32_class class)
{
	if (is_memory(class))
		return CAUSE_MEMORY;
	return is_product(class) ? CAUSE_MULTIPLIER : CAUSE_DEPENDENCY;
}

/* The registers of an instruction as one mask. */
static uint64_t sources(const struct t32_op *op)
{
	uint32_t core = op->address | op->data | op->sum | op->operands;

	return core | (uint64_t)(op->floats | op->floats_sum) << FLOATS | (op->reads_flags ? UINT64_C(1) << FLAGS : 0);
}

static uint64_t results(const struct t32_op *op)
{
	return op->written | (uint64_t)op->floats_written << FLOATS | (op->sets_flags ? UINT64_C(1) << FLAGS : 0);
}

/* How much later than others an operand may be there. */
static uint32_t lateness(const struct mcu *mcu, const struct t32_op *op, unsigned int reg)
{
	if (op->sum >> reg & 1)
		return mcu->numbers[MCU_SUM_LATE];
	return (op->data & ~op->address) >> reg & 1 ? mcu->numbers[MCU_DATA_LATE] : 0;
}

/* When the operands are there, and what a wait for them goes on. */
static uint64_t operands_ready(const struct mcu *mcu, const struct t32_op *op, enum cause *why)
{
	uint64_t mask = sources(op);
	uint64_t ready = 0;

	*why = CAUSE_DEPENDENCY;
	for (unsigned int i = 0; mask; i++, mask >>= 1) {
		bool early = i < 16 && op->address >> i & 1;
		uint64_t from = mcu->ready[i] + (early && mcu->ready[i] ? mcu->numbers[MCU_ADDRESS_EARLY] : 0);
		uint32_t late = i < 16 ? lateness(mcu, op, i) : 0;

		if (from >= late)
			from -= late;
		if (mask & 1 && from > ready) {
			ready = from;
			*why = (enum cause)mcu->why[i];
		}
	}
	return ready;
}

/* Whether a load goes on behind the load before without a gap. */
static bool is_pipelined(const struct mcu *mcu, const struct step *step)
{
	const struct mcu_before *before = &mcu->before;
	const struct t32_op *op = step->op;

	if (before->class != T32_LOAD || before->jumped || before->written & op->address & ~before->address)
		return false;
	/* A wide load that straddles words of code is not pipelined, nor one to pc. */
	if ((op->bytes == 4 && step->address % 4) || op->written >> 15)
		return false;
	if (!op->updates)
		return true;
	return mcu->numbers[MCU_UPDATES_CHAIN] && !(before->updates && before->address & op->address);
}

/* The memory that an instruction accesses first: flash and RAM are blocks of their own. */
static uint32_t block_of(const struct step *step)
{
	return step->count ? (uint32_t)(step->accesses[0].address >> BLOCK_BITS) : 0;
}

/* More or fewer cycles of a load or store by what stood before it. */
static int neighbours(const struct mcu *mcu, const struct step *step)
{
	const struct mcu_before *before = &mcu->before;
	const struct t32_op *op = step->op;
	bool behind_load = before->class == T32_LOAD && !before->jumped && !(before->written & op->address);

	if (op->class == T32_LOAD) {
		if (before->class == T32_STORE && !before->jumped)
			return (int)mcu->numbers[MCU_LOAD_AFTER_STORE];
		return is_pipelined(mcu, step) ? -(int)mcu->numbers[MCU_LOAD_PIPELINED] : 0;
	}
	if (op->class == T32_LOADS)
		return before->class == T32_STORE && !before->jumped ? (int)mcu->numbers[MCU_LOADS_AFTER_STORE] : 0;
	if (op->class != T32_STORE)
		return 0;
	if (!op->indexed)
		return behind_load && !op->updates && before->block == block_of(step)
			       ? -(int)mcu->numbers[MCU_STORE_HIDES]
			       : 0;
	return (int)mcu->numbers[MCU_STORE_INDEXED] - (behind_load ? (int)mcu->numbers[MCU_STORE_PIPELINED] : 0);
}

/* Cycles for the registers of a load or store of several. */
static uint32_t register_cycles(const struct step *step)
{
	uint32_t together = step->class->together ? step->class->together : 1;

	return step->class->per_register * ((step->op->registers + together - 1) / together);
}

/* Waits of loads from flash, and of each word that is stored. */
static void wait_for_memory(struct mcu *mcu, const struct step *step)
{
	for (size_t i = 0; i < step->count; i++) {
		const struct access *access = &step->accesses[i];

		pass(mcu, step, CAUSE_MEMORY,
		     access->store ? (uint64_t)mcu->numbers[MCU_STORE_WAITS] * ((access->bytes + 3) / 4)
				   : flash_load(&mcu->flash, access->address, access->bytes, mcu->now));
	}
}

static void execute_memory(struct mcu *mcu, const struct step *step)
{
	const struct mcu_before *before = &mcu->before;
	/* What a condition left out accessed nothing. */
	int more = step->count ? neighbours(mcu, step) : 0;
	int cycles = !step->count ? 1 : (int)step->class->cycles + (int)register_cycles(step) + more;

	if (!is_memory(before->class) && before->written & step->op->address && !before->jumped)
		pass(mcu, step, CAUSE_DEPENDENCY, mcu->numbers[MCU_ADDRESS_WAIT]);
	/* A store can vanish in the gap behind a load. */
	if (cycles > 0)
		pass(mcu, step, CAUSE_ISSUE, 1);
	if (cycles > 1)
		pass(mcu, step, CAUSE_MEMORY, (uint64_t)cycles - 1);
	wait_for_memory(mcu, step);
}

/* Alignment of wide instructions: what the fetch unit needs more. */
static void align(struct mcu *mcu, const struct step *step)
{
	struct mcu_before *before = &mcu->before;

	if (step->op->bytes != 4 || step->address % 4 == 0) {
		before->group = 0;
		return;
	}
	if (before->jumped) {
		before->group = 0;
		pass(mcu, step, CAUSE_FETCH, mcu->numbers[MCU_WIDE_TARGET]);
		return;
	}
	if (before->several)
		before->group = 1;
	else if (before->group)
		before->group++;
	if (before->group && before->group == mcu->numbers[MCU_WIDE_GROUP]) {
		before->group = 0;
		pass(mcu, step, CAUSE_FETCH, 1);
	}
}

static void write_results(struct mcu *mcu, const struct step *step, uint64_t begun)
{
	uint32_t rotated = step->op->rotated ? mcu->numbers[MCU_ROTATED] : 0;
	uint32_t latency = rotated ? rotated : step->class->latency;
	uint64_t mask = results(step->op);
	/* Without a latency of its own a result is there when the next instruction may begin. */
	uint64_t ready = latency ? begun + latency : mcu->now;
	uint8_t why = (uint8_t)cause_of(step->op->class);

	for (unsigned int i = 0; mask; i++, mask >>= 1)
		if (mask & 1) {
			/* An address that is written back is there after a cycle. */
			bool quick = i < 16 && step->op->address >> i & 1;

			mcu->ready[i] = quick ? begun + 1 : ready;
			mcu->why[i] = quick ? CAUSE_DEPENDENCY : why;
		}
}

static enum mcu_number refill_of(const struct mcu *mcu, const struct t32_op *op)
{
	if (op->class == T32_CALL)
		return MCU_REFILL_CALL;
	if (op->class == T32_JUMP)
		return MCU_REFILL_REGISTER;
	if (op->class != T32_BRANCH)
		return MCU_REFILL_LOAD;
	/* CBZ and CBNZ have an operand, which is looked at late. */
	return op->operands && mcu->numbers[MCU_COMPARE_LATE] ? MCU_REFILL_REGISTER : MCU_REFILL;
}

static void go_on(struct mcu *mcu, const struct step *step)
{
	/* An exception comes between any two instructions; it is no branch. */
	if (step->op->writes_pc && step->taken)
		pass(mcu, step, CAUSE_FETCH, mcu->numbers[refill_of(mcu, step->op)]);
}

static void remember(struct mcu *mcu, const struct step *step, bool paired, bool several)
{
	mcu->before.class = step->op->class;
	mcu->before.updates = step->op->updates;
	mcu->before.address = step->op->address;
	mcu->before.written = step->op->written;
	mcu->before.block = block_of(step);
	mcu->before.jumped = step->taken;
	mcu->before.narrow = step->op->bytes == 2;
	mcu->before.sets_flags = step->op->sets_flags;
	mcu->before.paired = paired;
	mcu->before.several = several;
}

/* IT behind a narrow instruction is taken with it. */
static bool is_folded(const struct mcu *mcu, const struct step *step)
{
	return mcu->numbers[MCU_FOLDED] && step->op->makes_conditional && mcu->before.narrow && !mcu->before.jumped;
}

/* A narrow branch can begin with the narrow instruction before it; if it is taken, not with one that sets flags. */
static bool is_paired(const struct mcu *mcu, const struct step *step)
{
	const struct mcu_before *before = &mcu->before;
	enum t32_class class = step->op->class;

	return mcu->numbers[MCU_BRANCH_PAIRS] && (class == T32_BRANCH || class == T32_JUMP) && step->op->bytes == 2 &&
	       before->narrow && !before->jumped && !before->paired && !(step->taken && before->sets_flags);
}

/* Cycles of an instruction that is no load or store, but the first. */
static uint64_t further(const struct mcu *mcu, const struct step *step)
{
	const struct t32_op *op = step->op;
	bool late = op->sets_flags && (op->class == T32_MUL || op->rotated);

	return step->class->cycles - (step->class->cycles > 0) + (late ? mcu->numbers[MCU_FLAGS_LATE] : 0);
}

static void take(struct mcu *mcu, const struct step *step)
{
	bool paired = is_folded(mcu, step) || is_paired(mcu, step);
	enum cause why = CAUSE_DEPENDENCY;
	uint64_t ready = mcu->waits ? operands_ready(mcu, step->op, &why) : 0;
	uint64_t begun;
	bool several;

	pass(mcu, step, CAUSE_FETCH, flash_fetch(&mcu->flash, step->address, step->op->bytes, mcu->now));
	align(mcu, step);
	if (ready > mcu->now)
		pass(mcu, step, why, ready - mcu->now);
	begun = mcu->now;
	if (is_memory(step->op->class)) {
		execute_memory(mcu, step);
	} else if (!paired) {
		pass(mcu, step, CAUSE_ISSUE, 1);
		pass(mcu, step, cause_of(step->op->class), further(mcu, step));
	}
	if (mcu->waits)
		write_results(mcu, step, begun);
	several = mcu->now > begun + 1;
	go_on(mcu, step);
	remember(mcu, step, paired, several);
}

void mcu_run(struct mcu *mcu, const struct mcu_code *code, uint32_t instructions, const struct access *accesses,
	     size_t count, uint64_t next, struct spent *spent)
{
	static const struct mcu_class unknown = { .cycles = 1 };
	size_t done = 0;

	for (uint32_t i = 0; i < instructions; i++) {
		struct step step = { .op = &code->ops[i], .address = code->addresses[i], .spent = spent };
		size_t first = done;

		while (done < count && accesses[done].instruction <= i)
			done++;
		step.accesses = accesses + first;
		step.count = done - first;
		step.class = &mcu->classes[step.op->class];
		if (!step.class->known)
			step.class = &unknown;
		step.target = i + 1 == instructions ? next : code->addresses[i + 1];
		step.taken = step.target != code->addresses[i + 1];
		if (!step.class->known || step.class->outside)
			spent->outside_instructions++;
		take(mcu, &step);
	}
}
