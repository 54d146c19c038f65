/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where two calls of one operation part, and where they join again: they are followed side by side. They join at the first
 * address that both come to in the same call of the same function, or where that function has returned to.
 */
#ifndef WORLDWISE_SECRETS_COMPARE_H
#define WORLDWISE_SECRETS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "stream.h"

/* Where a function begins, and the address behind it. */
struct function {
	uint64_t start;
	uint64_t end;
};

/* What is known of the program: its functions in order, and where instructions begin. */
struct program {
	const struct function *functions;
	size_t function_count;
	const struct map *instructions;
};

enum kind {
	KIND_FLOW,    /* a branch goes to another place, or is taken in one of the calls alone */
	KIND_ADDRESS, /* a load or store accesses another address */
	KIND_MADE,    /* a load or store is made in one of the calls alone, as a condition says */
};

struct parting {
	enum kind kind;
	uint64_t pc;        /* of the instruction at which the calls part */
	uint64_t reference; /* where the branch goes, or what is accessed; 0 if no access is made */
	uint64_t other;
	uint32_t before;                 /* instructions of the reference before it */
	uint32_t reference_instructions; /* up to where the calls join */
	uint32_t other_instructions;
	bool after;              /* the flow parted before, so this may be no more than what follows from that */
	bool joined;             /* else nothing behind it was compared */
	const uint64_t *callers; /* the addresses that its functions return to, the outermost first */
	size_t depth;
};

typedef void on_parting(void *context, const struct parting *parting);

/* Calls `tell` for each place at which a call parts from the reference, in order. */
void compare_streams(const struct stream *reference, const struct stream *other, const struct program *program,
		     on_parting *tell, void *context);

#endif /* WORLDWISE_SECRETS_COMPARE_H */
