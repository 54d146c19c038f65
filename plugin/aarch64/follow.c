/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A translation block may be left before its end, by a fault or by an access to a device that QEMU repeats on its own.
 * A store behind the last instruction's mark tells whole blocks from such ones.
 */
#include "follow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"
#include "blocks.h"
#include "counts.h"
#include "cycles.h"
#include "depth.h"
#include "masks.h"
#include "names.h"
#include "processor.h"
#include "regions.h"
#include "stack.h"
#include "tasks.h"
#include "threads.h"
#include "trace.h"
#include "witness.h"
#include "worlds.h"

/* Classes of exceptions: data abort from a lower level, and from the same one (Arm ARM, ESR_ELx). */
#define CLASS_DATA_ABORT_LOWER 0x24u
#define CLASS_DATA_ABORT_SAME 0x25u

static struct block *previous; /* mode stack: the block before, in the same outermost pass; else NULL */

/* How many instructions of `block` were executed, when its last one was not reached; the next one is `to`. */
static uint32_t executed_part(const struct block *block, const struct block *to, bool vector)
{
	uint64_t next = vector ? processor_return_address() : to->pc;
	/* No block crosses a page; and one page may be at two addresses, of which the block has but one. */
	uint64_t done = block_before(block, (next & (PAGE_BYTES - 1)) - (block->pc & (PAGE_BYTES - 1)));

	if (done >= block->instructions) {
		trace_give_up("a block was left in a way that is not understood", block->pc);
		return 0;
	}
	return (uint32_t)done;
}

/* A data abort at the last instruction: its mark was passed, the instruction was not executed. `to` is a vector. */
static bool last_aborted(const struct block *to)
{
	bool synchronous = !((to->pc / VECTOR_ALIGNMENT) & 3);
	unsigned int class = processor_exception_class();

	return synchronous && (class == CLASS_DATA_ABORT_LOWER || class == CLASS_DATA_ABORT_SAME);
}

/* Whether a block's code alone says that `to` can be next. */
static bool is_expected(const struct block *from, const struct block *to)
{
	/* Of A32 and T32 whatever directs the flow may depend on a condition. */
	if (from->set != SET_A64 && to->pc == from->end)
		return true;
	if (from->flow == FLOW_PLAIN)
		return to->pc == from->target || to->pc == from->end;
	return from->flow == FLOW_CALL && to->pc == from->target;
}

/* A block was executed; then the core went on at `next`. */
static void account(struct block *block, uint64_t next)
{
	cycles_run(counts_add(stack_node(), block, lost_depth), next);
}

/* The whole of a block; models of cores have no use for the branches that were taken. */
static void account_whole(struct block *block, uint64_t next)
{
	account(block, next);
	if (next != block->end && !cycles_cores)
		counts_taken(block);
}

static void account_part(const struct block *block, uint32_t instructions, uint64_t next)
{
	if (instructions)
		account(block_part(block, instructions), next);
}

/* What the last instruction of a block does to the stack; it goes on at `to`, and after an ERET at level `el`. */
static void step(const struct block *from, uint64_t to, unsigned int el)
{
	/* A conditional one that did nothing. */
	if (from->set != SET_A64 && to == from->end)
		return;
	switch (from->flow) {
	case FLOW_CALL:
	case FLOW_CALL_REGISTER:
		stack_call(from, to);
		break;
	case FLOW_RETURN:
		if (tasks_are_switched())
			tasks_return(to);
		else
			stack_return(from, to);
		break;
	case FLOW_ERET:
		worlds_eret(block_last(from), to, el);
		break;
	case FLOW_JUMP_REGISTER:
		/* A function of A32 or T32 can return by any register; else it jumps. */
		if (from->set != SET_A64 && stack_waits_for(to))
			stack_return(from, to);
		break;
	case FLOW_PLAIN:
	case FLOW_TRAP:
		break;
	}
}

/* An exception arrived at `to`, after the whole of `from` or a part of it. */
static void follow_exception(struct block *from, const struct block *to, bool whole)
{
	struct node *last = from->masks ? stack_node() : NULL; /* before the stack changes */

	if (!whole) {
		account_part(from, executed_part(from, to, true), to->pc);
	} else if (last_aborted(to)) {
		account_part(from, from->instructions - 1, to->pc);
	} else {
		/* Its branch went there, and was no surprise for the core. */
		account_whole(from, processor_return_address());
		/* What the last instruction did has happened, whatever came then. */
		step(from, processor_return_address(), processor_interrupted_el());
		if (from->masks)
			masks_changed(last, block_last(from), processor_interrupted_state(),
				      processor_return_address());
	}
	worlds_exception(to);
	masks_exception(to->pc);
}

/* Counts what was executed before `to`, and brings the stack to where `to` begins. */
static void follow(struct block *from, struct block *to)
{
	bool whole = !scoreboard->open;
	bool expected = whole && is_expected(from, to);
	struct node *last = from->masks ? stack_node() : NULL; /* before the stack changes */

	if (!expected && block_is_vector(to)) {
		follow_exception(from, to, whole);
		return;
	}
	if (!whole) {
		account_part(from, executed_part(from, to, false), to->pc);
		return;
	}
	account_whole(from, to->pc);
	/* A trap goes to a vector, and a direct branch where it says. */
	if ((from->flow == FLOW_TRAP && !expected) ||
	    ((from->flow == FLOW_PLAIN || from->flow == FLOW_CALL) && !expected))
		stack_lose(block_last(from), to->pc);
	else
		step(from, to->pc, from->flow == FLOW_ERET && to->set == SET_A64 ? processor_el() : 0);
	if (from->masks)
		masks_changed(last, block_last(from), processor_state(), to->pc);
}

static void run_hook(const struct block *to)
{
	switch (to->hook) {
	case HOOK_NONE:
		break;
	case HOOK_TASK_SWITCH:
		tasks_switch_begins();
		break;
	case HOOK_TASK_NAME:
		names_given();
		break;
	case HOOK_THREAD_SUSPEND:
		threads_suspend();
		break;
	case HOOK_THREAD_RESUME:
		threads_resume_begins();
		break;
	}
}

/* Mode stack: a block is about to be executed, inside a region or near a mark. */
static void on_block(unsigned int processor, void *data)
{
	struct block *to = data;

	(void)processor;
	regions_before(to);
	if (previous) {
		follow(previous, to);
		run_hook(to);
		if (arguments.witness)
			witness_look(to);
	}
	cycles_begin_block();
	regions_at(to);
	if (arguments.watches && regions_are_open())
		regions_calls_at(to);
	if (arguments.watches && regions_are_open())
		depth_look(to);
	previous = regions_are_open() ? to : NULL;
	scoreboard->open = 1;
}

/* Mode count: QEMU itself adds up whole blocks. This one follows one that was left early. */
static void on_open(unsigned int processor, void *data)
{
	const struct block *left = (const struct block *)(uintptr_t)scoreboard->open;
	struct block *to = data;

	(void)processor;
	totals.counted += executed_part(left, to, block_is_vector(to));
}

/* Mode count: what may be a vector is about to be executed. */
static void on_vector(unsigned int processor, void *data)
{
	struct block *to = data;

	(void)processor;
	if (!scoreboard->open && block_is_vector(to) && last_aborted(to))
		totals.counted--;
}

/* Mode count: a mark, a reading of the counter or the block behind one is about to be executed. */
static void on_mark(unsigned int processor, void *data)
{
	(void)processor;
	regions_before(data);
	regions_at(data);
}

static void watch_stack(struct qemu_plugin_tb *translation, struct qemu_plugin_insn *last, struct block *block,
			bool mark)
{
	if (mark)
		qemu_plugin_register_vcpu_tb_exec_cb(translation, on_block, QEMU_PLUGIN_CB_R_REGS, block);
	else
		qemu_plugin_register_vcpu_tb_exec_cond_cb(translation, on_block, QEMU_PLUGIN_CB_R_REGS,
							  QEMU_PLUGIN_COND_NE, scoreboard_active, 0, block);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_STORE_U64, scoreboard_open, 0);
}

/* The order is that in which QEMU executes them. */
static void watch_count(struct qemu_plugin_tb *translation, struct qemu_plugin_insn *last, struct block *block,
			bool mark)
{
	if (block->vector == VECTOR_MAYBE)
		qemu_plugin_register_vcpu_tb_exec_cb(translation, on_vector, QEMU_PLUGIN_CB_R_REGS, block);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(translation, on_open, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_COND_NE,
						  scoreboard_open, 0, block);
	if (mark)
		qemu_plugin_register_vcpu_tb_exec_cb(translation, on_mark, QEMU_PLUGIN_CB_R_REGS, block);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(translation, QEMU_PLUGIN_INLINE_STORE_U64, scoreboard_open,
							  (uintptr_t)block);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_ADD_U64, scoreboard_count,
							    block->instructions);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_STORE_U64, scoreboard_open, 0);
}

void follow_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *translation)
{
	struct block *block = block_of_translation(translation);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(translation, block->instructions - 1);
	/* The counter's value, and with it the end of a pass, is known in the block behind the mrs. */
	bool mark = block->begins_at || block->reads || block_is_behind_read(block);

	(void)id;
	cycles_watch(translation, block);
	if (arguments.stack_mode)
		watch_stack(translation, last, block, mark);
	else
		watch_count(translation, last, block, mark);
}
