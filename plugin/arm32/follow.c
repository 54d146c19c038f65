/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks are followed as by ../aarch64/follow.c: a store behind the last instruction's mark tells whole blocks from
 * those that were left before. What differs is how a 32-bit core calls, returns and takes exceptions.
 *
 * On an M core an exception is told by its number in the processor's state, which is looked at where a block's code does
 * not say that the next one comes; it returns to the address that the core has pushed. In Linux the program's calls are
 * followed and the kernel's are not: all of it is one frame on the program's stack.
 */
#include "follow.h"

#include <stddef.h>

#include <glib.h>

#include "../aarch64/arguments.h"
#include "../aarch64/counts.h"
#include "../aarch64/events.h"
#include "../aarch64/stack.h"
#include "../aarch64/trace.h"
#include "blocks.h"
#include "calls.h"
#include "cycles.h"
#include "life.h"
#include "passes.h"
#include "peak.h"
#include "processor.h"
#include "switches.h"
#include "tasks.h"
#include "witness.h"

/* The exceptions of Linux on Armv7-A, at the high vectors: their link register is so much behind what was interrupted. */
#define VECTORS UINT64_C(0xffff0000)
#define VECTOR_SVC UINT64_C(0xffff0008)
#define VECTOR_FETCH_ABORT UINT64_C(0xffff000c)
#define VECTOR_DATA_ABORT UINT64_C(0xffff0010)
#define VECTOR_INTERRUPT UINT64_C(0xffff0018)
#define VECTORS_END UINT64_C(0xffff0020)
/* The kernel's page of functions for programs, which they execute themselves: Linux's Documentation/arch/arm. */
#define HELPERS UINT64_C(0xffff0f60)
#define HELPERS_END UINT64_C(0xffff1000)
#define BEHIND_FETCH 4u
#define BEHIND_DATA 8u

/* The bit by which the machines with TrustZone-M tell secure addresses: Armv8-M's own suggestion for the attribution. */
#define SECURE_ALIAS UINT64_C(0x10000000)

/* CPSID i: it stands before each reading of a board's counter (guest/mcu/counter.h), at most so far before the load. */
#define DISABLE_INTERRUPTS 0xb672u
#define MOST_BEFORE 16u

static struct followed followed;
static struct flat_block *previous; /* the block before, which is not counted yet; NULL if there is none */
static unsigned int exception;      /* micro: the handler that runs, 0 for none */
/*
 * Micro: the block in which or behind which a non-secure handler interrupted the secure state, whose stack it cannot read: where
 * that goes on is known when it does. NULL if no such handler runs.
 */
static const struct flat_block *interrupted_secure;
static bool interrupted_within;
/*
 * Micro, calls: the block before `previous` went where its code says, on the stack that is the shadow's now, and is counted
 * with all that it does. Another quiet one then changes no more than sums.
 */
static bool steady;
static bool may_hurry; /* such blocks can be counted in haste */
static bool in_kernel;
static bool elsewhere; /* Linux: another task than the program's runs */
static bool begun;     /* Linux: the program was seen to begin */

void follow_start(const struct followed *what)
{
	followed = *what;
	may_hurry = followed.micro && calls_are_passes() && !cycles_cores && !arguments.witness;
}

/* counts_add() for a block that most often is executed where it was before. Returns its slot. */
static inline struct slot *count(struct node *node, struct flat_block *block)
{
	struct slot *slot = block->slot;

	/* What was written since has to be noted, and what is lost has a sum of its own. */
	if (!slot || slot->node != node || !slot->times || lost_depth)
		return block->slot = counts_add(node, &block->block, lost_depth);
	slot->times++;
	totals.counted += block->block.instructions;
	return slot;
}

/* Whether the code that runs is that of which somebody wants to know how deep its stack gets. */
static bool is_looked_at(void)
{
	return followed.micro ? !exception : followed.begins && !in_kernel && life_is_regions();
}

/*
 * A block, or a part of one, was executed; then the core went on at `next`. Linux: what was before the first reading is
 * of no pass.
 */
static void account(struct flat_block *block, uint64_t next)
{
	if (!passes_are_open() && !calls_have_begun())
		return;
	cycles_run(count(stack_node(), block), next);
	if (is_looked_at())
		peak_add(block);
}

static void account_part(const struct flat_block *block, uint32_t instructions, uint64_t next)
{
	if (instructions == block->block.instructions)
		trace_give_up("a block was left in a way that is not understood", block->block.pc);
	else if (instructions)
		account(flat_block_part(block, instructions), next);
}

static bool is_expected(const struct block *from, uint64_t to)
{
	if (from->flow == FLOW_PLAIN)
		return to == from->target || to == from->end;
	return from->flow == FLOW_CALL && to == from->target;
}

/* Whether a frame of this context waits for the flow to come to `to`. */
static bool is_waited_for(uint64_t to)
{
	for (size_t depth = shadow.depth; depth > 0; depth--) {
		const struct frame *frame = &shadow.frames[depth - 1];

		if (frame->kind != NODE_CALL)
			return false;
		if (frame->back == to)
			return true;
	}
	return false;
}

/* What the last instruction of a block does to the stack. */
static void step(const struct block *from, uint64_t to)
{
	/* A conditional one that did nothing. */
	if (to == from->end)
		return;
	switch (from->flow) {
	case FLOW_CALL:
	case FLOW_CALL_REGISTER:
		stack_call(from, to);
		break;
	case FLOW_RETURN:
		stack_return(from, to);
		break;
	case FLOW_JUMP_REGISTER:
		/* By any register a function can return; else it jumps. */
		if (is_waited_for(to))
			stack_return(from, to);
		break;
	case FLOW_PLAIN:
	case FLOW_TRAP:
	case FLOW_ERET:
		break;
	}
}

/* The depth of the innermost exception's frame; 0 if there is none. */
static size_t exception_depth(void)
{
	size_t depth = shadow.depth;

	while (depth > 0 && shadow.frames[depth - 1].kind != NODE_EXCEPTION)
		depth--;
	return depth;
}

static void push_exception(const char *what, uint64_t back, uint64_t to)
{
	struct node *interrupted = stack_node();

	running = context_of(1, false, 0);
	stack_push(NODE_EXCEPTION, back, to, back, interrupted);
	event_write(what, back, to);
}

static void pop_exception(size_t depth, uint64_t site, uint64_t to)
{
	stack_cut(depth - 1);
	running = shadow.frames[depth - 2].context;
	event_write("eret", site, to);
}

/* Micro: the secure state goes on at `to`: what was left of its block. */
static void go_on_secure(uint64_t to)
{
	if (interrupted_within)
		account_part(interrupted_secure, flat_block_before(interrupted_secure, to), to);
	else
		step(&interrupted_secure->block, to);
	interrupted_secure = NULL;
}

/* Micro: the number of the exception whose handler runs is another one than before. */
static void change_exception(const struct flat_block *from, uint64_t to, unsigned int number, bool whole)
{
	size_t depth = exception_depth();
	uint64_t back = number ? flat_processor_interrupted() : to;

	if (!exception && !back) {
		interrupted_secure = from;
		interrupted_within = !whole;
	}
	if (calls_are_passes() && !exception)
		switches_enter();
	if (calls_are_passes() && exception && !number && depth && switches_leave(depth - 1, to)) {
		event_write("task", block_last(&from->block), to);
		peak_forget();
		/* One that ends as another begins goes back where that one will. */
	} else if (exception && depth && (interrupted_secure || shadow.frames[depth - 1].back == back)) {
		pop_exception(depth, block_last(&from->block), to);
		if (!number && interrupted_secure)
			go_on_secure(to);
	} else if (interrupted_secure) {
		/* What its block does to the stack is done when it goes on. */
	} else if (exception && !number) {
		stack_lose(block_last(&from->block), to);
	} else if (!exception) {
		step(&from->block, back);
	}
	exception = number;
	if (number)
		push_exception("irq", back, to);
	else
		peak_is_unknown = true;
}

/* Of a core with TrustZone-M: whether two addresses are in different states, which have stacks of their own. */
static bool is_other_state(uint64_t from, uint64_t to)
{
	return (from ^ to) & SECURE_ALIAS;
}

/*
 * Micro, calls: counts `previous`, if on_block() would do no more than that. Each condition stands for something that it
 * would do: most blocks pass here, and a machine takes as long as that takes. Where the machine ends no block was before.
 */
static bool hurry(struct flat_block *to)
{
	struct flat_block *from = previous;
	uint64_t pc = to->block.pc;
	struct slot *slot;

	if (!steady || scoreboard->open || !from->quiet || (pc != from->block.end && pc != from->block.target))
		return false;
	if (!to->decoded || to->watched || is_other_state(from->block.pc, pc) || !calls_look_away(pc))
		return false;
	slot = from->slot;
	if (!slot || slot->node != stack_node() || !slot->times || peak_asks_next())
		return false;
	if (totals.counted + from->block.instructions >= calls_limit)
		return false;
	slot->times++;
	totals.counted += from->block.instructions;
	if (pc != from->block.end)
		counts_taken(&from->block);
	peak_blocks += !exception;
	previous = to;
	scoreboard->open = 1;
	return true;
}

static void follow_micro(struct flat_block *from, const struct flat_block *to, bool whole)
{
	uint64_t pc = to->block.pc;
	const struct frame *top;
	unsigned int number;
	uint64_t at;

	steady = false;
	if (!whole) {
		number = flat_processor_exception();
		at = number == exception ? pc : flat_processor_interrupted();
		if (at)
			account_part(from, flat_block_before(from, at), pc);
		if (number != exception)
			change_exception(from, pc, number, whole);
		return;
	}
	account(from, pc);
	peak_is_unknown |= is_other_state(from->block.pc, pc);
	if (pc != from->block.end && !cycles_cores)
		counts_taken(&from->block);
	if (is_expected(&from->block, pc)) {
		steady = from->block.flow == FLOW_PLAIN && !lost_depth;
		step(&from->block, pc);
		return;
	}
	/* Nearly every return. */
	top = &shadow.frames[shadow.depth - 1];
	if (from->block.flow != FLOW_RETURN || top->kind != NODE_CALL || top->back != pc) {
		number = flat_processor_exception();
		if (number != exception) {
			change_exception(from, pc, number, whole);
			return;
		}
	}
	if (from->block.flow == FLOW_PLAIN || from->block.flow == FLOW_CALL || from->block.flow == FLOW_TRAP)
		stack_lose(block_last(&from->block), pc);
	else
		step(&from->block, pc);
}

/* Linux: where the exception that arrived at `vector` goes back to; 0 if that is not known. */
static uint64_t interrupted(uint64_t vector)
{
	uint32_t link = flat_processor_link();

	if (vector == VECTOR_DATA_ABORT)
		return link - BEHIND_DATA;
	if (vector == VECTOR_FETCH_ABORT || vector == VECTOR_INTERRUPT)
		return link - BEHIND_FETCH;
	return vector == VECTOR_SVC ? link : 0;
}

static const char *exception_name(uint64_t vector)
{
	return vector == VECTOR_INTERRUPT ? "irq" : "sync";
}

/* Linux: from the program to the kernel. */
static void enter_kernel(const struct flat_block *from, uint64_t to, uint64_t back, bool whole)
{
	in_kernel = true;
	if (followed.begins && to == VECTOR_SVC) {
		flat_tasks_call();
		life_called();
	}
	if (elsewhere) {
		/* Another task's: the program's own frame waits below. */
		elsewhere = false;
		stack_cut(exception_depth());
		running = context_of(1, false, 0);
		return;
	}
	if (whole && back && from->block.flow != FLOW_TRAP)
		step(&from->block, back);
	push_exception(exception_name(to), back ? back : from->block.end, to);
}

/* Linux: from the kernel to a program. */
static void leave_kernel(uint64_t site, uint64_t to)
{
	size_t depth = exception_depth();
	uint64_t back = depth ? shadow.frames[depth - 1].back : 0;

	in_kernel = false;
	if (followed.begins) {
		/* A handler of a signal, another task. */
		peak_is_unknown = true;
		flat_tasks_enter(site, to);
		return;
	}
	/* A system call may be made again, and an instruction that the kernel has made possible. */
	if (depth && (to == back || to == back - 2 || to == back - INSTRUCTION_BYTES)) {
		pop_exception(depth, site, to);
		return;
	}
	elsewhere = true;
	running = context_of(0, false, 1);
	stack_push(NODE_TASK, 0, 1, 0, stack_node());
	event_write("task", site, to);
}

static void follow_linux(struct flat_block *from, const struct flat_block *to, bool whole)
{
	uint64_t pc = to->block.pc;
	bool vector = pc >= VECTORS && pc < VECTORS_END && !is_expected(&from->block, pc);
	uint64_t back = vector ? interrupted(pc) : pc;
	uint32_t before = back ? flat_block_before(from, back) : from->block.instructions;
	/* A system call goes to the vector; what another exception hit goes on later. */
	uint64_t next = back && pc != VECTOR_SVC ? back : pc;
	bool kernel = pc >= followed.kernel && !(pc >= HELPERS && pc < HELPERS_END);

	/* An access that aborts has passed its mark. */
	if (pc == VECTOR_DATA_ABORT && vector && before < from->block.instructions)
		whole = false;
	if (whole) {
		account(from, next);
		if (pc != from->block.end && !vector && (passes_are_open() || calls_have_begun()) && !cycles_cores)
			counts_taken(&from->block);
	} else {
		account_part(from, before, next);
	}
	if (kernel && !in_kernel)
		enter_kernel(from, pc, back, whole);
	else if (!kernel && in_kernel)
		leave_kernel(block_last(&from->block), pc);
	else if (!kernel && !elsewhere && whole)
		step(&from->block, pc);
}

/* Micro: the counter was read a second time, and models of cores go on until it is read again. */
static bool is_between(void)
{
	return followed.micro && !passes_are_open() && !calls_are_passes();
}

/* Linux: the program begins. */
static void begin_program(uint64_t pc)
{
	begun = true;
	in_kernel = elsewhere = false;
	previous = NULL;
	running = context_of(0, false, 0);
	stack_begin(pc, pc);
	flat_witness_begin();
	scoreboard->active = 1;
}

/* Begins the pass around all, and ends and begins calls. */
static void look_for_calls(const struct flat_block *to)
{
	if (!calls_have_begun())
		calls_begin(to->block.pc);
	steady &= !to->watched && calls_look_away(to->block.pc);
	if (calls_look(to->block.pc, exception, to->watched)) {
		previous = NULL;
		followed.end_machine();
	}
}

/* Linux: whether the life of the program goes on. */
static bool look_for_life(const struct flat_block *to)
{
	enum life life = life_at(to, in_kernel);

	if (life == LIFE_BEGINS)
		in_kernel = elsewhere = false;
	if (life == LIFE_ENDS)
		previous = NULL;
	return life != LIFE_ENDS;
}

void follow_finish(void)
{
	if (followed.begins)
		life_finish();
	if (!calls_are_passes() || followed.begins)
		return;
	/* The call of semihosting that ends the machine is the last instruction of its block. */
	if (previous && !scoreboard->open)
		account(previous, previous->block.end);
	calls_finish();
}

/* Mode stack: a block is about to be executed. */
static void on_block(unsigned int processor, void *data)
{
	struct flat_block *to = data;

	(void)processor;
	if (may_hurry && hurry(to))
		return;
	if (!to->decoded)
		flat_block_decode(to, followed.micro || flat_processor_thumb() ? SET_T32 : SET_A32);
	if (followed.begins && !life_before(to))
		return;
	if (to->block.pc == followed.start && !followed.micro)
		begin_program(to->block.pc);
	if (previous && is_between())
		cycles_pass_by(previous, to->block.pc, !scoreboard->open);
	else if (previous && followed.micro)
		follow_micro(previous, to, !scoreboard->open);
	else if (previous)
		follow_linux(previous, to, !scoreboard->open);
	cycles_begin_block();
	if (followed.begins) {
		if (!look_for_life(to))
			return;
	} else if (calls_are_passes()) {
		look_for_calls(to);
	}
	if (is_looked_at() && !is_between()) {
		steady &= !peak_asks_next();
		peak_look(to->block.pc);
	}
	if (arguments.witness && !exception && !in_kernel && !elsewhere)
		flat_witness_look(passes_open(), to->block.pc);
	previous = to;
	scoreboard->open = 1;
}

/* Mode count: QEMU itself adds up whole blocks. This one follows one that was left early. */
static void on_open(unsigned int processor, void *data)
{
	const struct flat_block *left = (const struct flat_block *)(uintptr_t)scoreboard->open;
	const struct flat_block *to = data;
	uint64_t pc = to->block.pc;
	uint64_t back = !followed.micro && pc >= VECTORS && pc < VECTORS_END ? interrupted(pc) : pc;

	(void)processor;
	totals.counted += flat_block_before(left, back);
}

/* The counter was read by that instruction of the block that runs. */
static void read_counter(uint64_t pc)
{
	const struct flat_block *block = arguments.stack_mode ? previous
							      : (const struct flat_block *)(uintptr_t)scoreboard->open;
	uint32_t executed;

	if (block) {
		executed = flat_block_before(block, pc) + 1;
		if (!arguments.stack_mode)
			totals.counted += executed;
		else if (is_between())
			cycles_pass_by(previous, block->block.pc + block->offsets[executed],
				       executed == block->block.instructions);
		else if (executed < block->block.instructions)
			account_part(block, executed, block->block.pc + block->offsets[executed]);
		else
			account(previous, block->block.end);
	}
	passes_reading(pc);
	/* What stands behind it in the block is executed as a block of its own. */
	previous = NULL;
	scoreboard->open = 0;
}

/* Micro: a load in a block behind one that disabled interrupts. */
static void on_load(unsigned int processor, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)processor;
	(void)info;
	if (address == followed.counter)
		read_counter((uint64_t)(uintptr_t)data);
}

static void on_store(unsigned int processor, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)processor;
	(void)info;
	(void)data;
	if (scoreboard->active && !exception)
		peak_store((uint32_t)address);
}

/* Linux: MRC p15, 0, r, c9, c13, 0 is about to be executed. */
static void on_reading(unsigned int processor, void *data)
{
	(void)processor;
	if (begun || !arguments.stack_mode)
		read_counter((uint64_t)(uintptr_t)data);
}

/* Whether an instruction of the page, not far before, disables interrupts. */
static bool is_behind_disabling(const struct qemu_plugin_insn *instruction)
{
	const uint8_t *host = qemu_plugin_insn_haddr(instruction);
	uint64_t place = qemu_plugin_insn_vaddr(instruction) & (PAGE_BYTES - 1);

	for (uint64_t back = 2; host && back <= MOST_BEFORE && back <= place; back += 2)
		if ((host[-(ptrdiff_t)back] | (uint32_t)host[1 - (ptrdiff_t)back] << 8) == DISABLE_INTERRUPTS)
			return true;
	return !host || place < MOST_BEFORE;
}

static bool reads_cycle_counter(const struct qemu_plugin_insn *instruction)
{
	uint8_t bytes[INSTRUCTION_BYTES] = { 0 };
	uint32_t word;

	if (qemu_plugin_insn_data(instruction, bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	word = decode_word(bytes);
	return (word & 0x0fff0fff) == 0x0e190f1d || (word & 0x0fffffff) == 0x0f1dee19;
}

/* Asks QEMU for the readings of the counter, and for stores. */
static void watch_instructions(struct qemu_plugin_tb *translation)
{
	size_t count = qemu_plugin_tb_n_insns(translation);
	bool behind = followed.micro && is_behind_disabling(qemu_plugin_tb_get_insn(translation, 0));

	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translation, i);
		void *pc = (void *)(uintptr_t)qemu_plugin_insn_vaddr(instruction);

		if (behind)
			qemu_plugin_register_vcpu_mem_cb(instruction, on_load, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_R, pc);
		if (followed.stores)
			qemu_plugin_register_vcpu_mem_cb(instruction, on_store, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_W, pc);
		if (!followed.micro && reads_cycle_counter(instruction))
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_reading, QEMU_PLUGIN_CB_NO_REGS, pc);
	}
}

static void watch_stack(struct qemu_plugin_tb *translation, struct flat_block *block)
{
	if ((calls_are_passes() && !followed.begins) || (block->block.pc == followed.start && !followed.micro) ||
	    (followed.begins && block->block.pc == followed.begins))
		qemu_plugin_register_vcpu_tb_exec_cb(translation, on_block, QEMU_PLUGIN_CB_R_REGS, block);
	else
		qemu_plugin_register_vcpu_tb_exec_cond_cb(translation, on_block, QEMU_PLUGIN_CB_R_REGS,
							  QEMU_PLUGIN_COND_NE, scoreboard_active, 0, block);
}

/* The order is that in which QEMU executes them. */
static void watch_count(struct qemu_plugin_tb *translation, struct flat_block *block)
{
	qemu_plugin_register_vcpu_tb_exec_cond_cb(translation, on_open, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_COND_NE,
						  scoreboard_open, 0, block);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(translation, QEMU_PLUGIN_INLINE_STORE_U64, scoreboard_open,
							  (uintptr_t)block);
}

void follow_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *translation)
{
	struct flat_block *block = flat_block_of(translation);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(translation, block->block.instructions - 1);

	(void)id;
	block->watched = calls_watch(block->block.pc);
	if (arguments.stack_mode)
		watch_stack(translation, block);
	else
		watch_count(translation, block);
	if (!arguments.stack_mode)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_ADD_U64, scoreboard_count,
								    block->block.instructions);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_STORE_U64, scoreboard_open, 0);
	/* A reading ends its pass, so that its access is seen before. */
	cycles_watch(translation, &block->block);
	if (!calls_are_passes() && !followed.begins)
		watch_instructions(translation);
}
