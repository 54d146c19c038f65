/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call tree: every way that was taken to get somewhere, and where code runs. */
#ifndef WORLDWISE_TREE_H
#define WORLDWISE_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* Where code runs: exception level, world, and in the normal world which task. */
struct context {
	uint32_t id; /* in the trace */
	unsigned int el;
	bool secure;
	uint64_t task; /* Linux's task_struct; 0 for the region's own */
	uint64_t
		space; /* at EL0 of the normal world, the translation table: another after exec; of a TA that calls others a number */
};

enum node_kind {
	NODE_REGION,
	NODE_CALL,
	NODE_EXCEPTION, /* sync, irq, fiq, serror */
	NODE_ENTER,     /* an ERET into code that was not left by an exception: a lower level's program begins */
	NODE_TASK,      /* the first sight of another task */
	NODE_UNWOUND,   /* a caller that is known from the stack in memory alone */
	NODE_LOST,      /* a return or ERET that matches nothing */
};

/* One way to get somewhere. */
struct node {
	uint32_t id; /* in the trace */
	bool written;
	struct node *parent; /* NULL for a region's */
	uint64_t site;       /* the call, or the interrupted instruction: see functions_site() */
	uint64_t target;     /* where it went */
	enum node_kind kind;
	const struct context *context;
};

/* Contexts and nodes live until QEMU ends. Two that are equal are one. */
void tree_start(void);

/* The context of the current translation table. It is written to the trace when it is new. */
const struct context *context_of(unsigned int el, bool secure, uint64_t task);

struct node *node_of(struct node *parent, enum node_kind kind, uint64_t site, uint64_t target,
		     const struct context *context);

/* Writes a node to the trace, once, after those above it. */
void node_write(struct node *node);
/* How many nodes there are. */
uint32_t nodes_made(void);

#endif /* WORLDWISE_TREE_H */
