/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes: those that are open, how each begins and ends, and its record. regions.c says when.
 *
 * Passes of marks and calls of one thread stand in one another, calls of several threads do not. What is executed is
 * counted as the own of the innermost one; while several threads are in calls under an id of its own, which a record
 * `shared` gives to the innermost call of each.
 */
#ifndef WORLDWISE_PASSES_H
#define WORLDWISE_PASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../model/sampling.h"
#include "events.h"
#include "names.h"
#include "tree.h"

#define MAX_NESTED 64
/* Arguments of a call that are recorded. */
#define CALL_ARGUMENTS 4

struct pass {
	uint32_t id;
	uint32_t parent; /* the pass around it, 0 if none */
	uint64_t mark;   /* the address of the mark */
	uint64_t begin;  /* the counter as the program read it */
	uint64_t counted_before;
	uint64_t at; /* instructions after the begin of the outermost */
	size_t depth;
	struct node *node;
	uint64_t lost_before;
	struct sampling sampling;
	/* Of a call alone. */
	unsigned int call;   /* 1 + the number of its function; 0 for a mark */
	uint64_t back;       /* where it returns to, */
	uint64_t sp;         /* with this stack pointer, */
	uint64_t thread;     /* in this thread of the program */
	uint64_t inner;      /* of a label: those that began within it and have not ended */
	uint64_t recursions; /* calls of the same function within it, which are no passes of their own */
	uint64_t given[CALL_ARGUMENTS];
	char name[NAME_BYTES]; /* of that thread, if it was given one */
	/* Of a call of another TA: where OP-TEE's core goes on behind it, and its stack pointer then; else 0. */
	uint64_t core_back;
	uint64_t core_sp;
	bool labelled;        /* it goes from a label to another one: it is no function's, and returns nowhere */
	struct node *outside; /* the node that it returns to */
	const char *how;      /* it ended; NULL for a mark */
	uint64_t result;
};

/* A pass that was left, but for the counter's value at its end. */
struct ended {
	struct pass pass;
	uint64_t instructions;
	uint64_t lost;
	size_t depth;
	bool closed; /* the stack is as it was when the pass began */
	struct event_counts events;
};

/* Those that are open, in the order in which they began. */
extern struct pass passes[MAX_NESTED];
extern size_t nested;
/* The one that ended last. */
extern struct ended ended;
/* What is executed while several threads are in calls is counted under it; else 0. */
extern uint32_t passes_shared;

void passes_start(void);
/* How many have begun. */
uint32_t passes_count(void);

/* Begins a pass of the mark `mark` at `pc`, within that of the number `around`, counted from 1; 0 for the outermost. */
void passes_begin(uint64_t mark, uint64_t pc, size_t around);
/* What comes is of the innermost pass, or of the innermost calls of several threads. Call it once one is a call. */
void passes_own_begins(void);
/* Ends the pass at that index: of all the innermost one, or the innermost call of one of several threads. */
void passes_end(size_t at);
/* Writes the one that ended last; the counter was `end` then. */
void passes_write(uint64_t end);

/* The innermost open call of a thread, counted from 1; 0 if it has none. */
size_t passes_innermost(uint64_t thread);
/* The pass around a call that a thread begins, counted from 1: its innermost, or what is around the calls of all. */
size_t passes_around_call(uint64_t thread);
/* The number of an open pass by its id, counted from 1; 0 if none has it. */
size_t passes_number_of(uint32_t id);

#endif /* WORLDWISE_PASSES_H */
