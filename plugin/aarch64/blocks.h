/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks: instructions in a row that QEMU translated together. */
#ifndef WORLDWISE_BLOCKS_H
#define WORLDWISE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <qemu-plugin.h>

#include "../model/model.h"
#include "decode.h"
#include "heap.h"

/* Every exception vector is aligned to this (Arm ARM, D1.4). */
#define VECTOR_ALIGNMENT 0x80
/* No block crosses a page. */
#define PAGE_BYTES 4096u

enum vector_state { VECTOR_MAYBE, VECTOR_NO, VECTOR_YES };

/* Which of the functions whose address the plugin was given begins with a block. */
enum hook { HOOK_NONE, HOOK_TASK_SWITCH, HOOK_TASK_NAME, HOOK_THREAD_SUSPEND, HOOK_THREAD_RESUME };

struct block {
	uint64_t pc;
	uint64_t end;    /* the address behind it */
	uint64_t target; /* of a direct branch at its end, else 0 */
	uint64_t site;   /* its last instruction as the site of a call: see functions_site() */
	uint32_t instructions;
	enum instruction_set set;
	bool narrow;    /* its last instruction has two bytes: of T32 */
	uint32_t id;    /* in the trace; 0 until it is written */
	enum flow flow; /* behind its last instruction */
	enum vector_state vector;
	enum hook hook;
	unsigned int call; /* 1 + the number of the function that begins here and whose calls are regions; else 0 */
	const struct heap_function *heap; /* an allocator's that begins here; else NULL */
	unsigned int ta_call;             /* 1 + which of OP-TEE's system calls for other TAs begins here; else 0 */
	bool label;                       /* a region of the program begins or ends there: see labels.h */
	int32_t deepest;                  /* how far below where it is at the begin the stack pointer gets: 0 or less */
	bool moves_stack;                 /* it changes the stack pointer in a way that the code does not say */
	bool enters;                      /* begins where the program that has these functions begins */
	bool masks;                       /* interrupts may wait, or wait no longer, behind its last instruction */
	bool reads;                       /* is one mrs of the counter */
	bool ends;                        /* is one, and the mark at which a region ends follows it */
	uint64_t begins_at;    /* the mrs of the mark at which a region begins, if the mark is in this block; else 0 */
	unsigned int reads_to; /* the x register its mrs writes */
	uint64_t taken;       /* how often its last instruction went elsewhere than behind it, since this was written */
	uint8_t *code;        /* 4 bytes an instruction, but of T32 */
	uint32_t *offsets;    /* of T32: where in it each instruction is, and at last its end; else NULL */
	struct code *decoded; /* for the models of cores; NULL until one runs it */
};

/* Blocks live until QEMU ends. Two with the same address and content are one: QEMU may translate code again. */
void blocks_start(void);

/* The block of what QEMU has translated. Gives up if it is not what code of its set can be. */
struct block *block_of_translation(const struct qemu_plugin_tb *translation);

/* The first `instructions` of a block that was left early: a block of its own, without flow, hook or mark. */
struct block *block_part(const struct block *block, uint32_t instructions);

/* The address of its last instruction. */
static inline uint64_t block_last(const struct block *block)
{
	return block->end - (block->narrow ? INSTRUCTION_BYTES / 2 : INSTRUCTION_BYTES);
}

/* How far behind its begin the instruction of that number is; of their count, its end. */
static inline uint32_t block_offset(const struct block *block, uint32_t number)
{
	return block->offsets ? block->offsets[number] : INSTRUCTION_BYTES * number;
}

/* How many of its instructions are within the first `offset` bytes: of the wrong place more than it has. */
uint64_t block_before(const struct block *block, uint64_t offset);

/* Whether a block begins behind an mrs of the counter that was translated before. */
bool block_is_behind_read(const struct block *block);

/*
 * Whether exceptions arrive at a block that is about to be executed. Decided the first time it is: tables move while a
 * machine runs, but code in one has no other use.
 */
bool block_find_vector(struct block *block);
static inline bool block_is_vector(struct block *block)
{
	return block->vector == VECTOR_MAYBE ? block_find_vector(block) : block->vector == VECTOR_YES;
}

/* Writes a block to the trace, once. */
void block_write(struct block *block);
/* How many were written. */
uint32_t blocks_written(void);

#endif /* WORLDWISE_BLOCKS_H */
