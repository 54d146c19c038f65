/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of a core of the A profile: what its file in cores/ says, in numbers. */
#ifndef WORLDWISE_TABLE_H
#define WORLDWISE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "operation.h"

#define MOST_PORTS 16
#define MOST_LIMITS 8
#define MOST_WINDOW 512u

/* How a class of instructions is executed. Times are cycles; ports are a mask. */
struct timing {
	bool known;
	uint16_t ports;         /* where each micro-operation can go */
	uint16_t second;        /* where one more of each goes: the data of a store; 0 for none */
	uint8_t latency;        /* from issue until a later instruction can use the result */
	uint8_t second_latency; /* of the second register of a pair; 0: as the first */
	uint8_t busy;           /* how long a port takes no other */
	uint8_t uops;           /* micro-operations */
	uint8_t each;        /* micro-operations for each register that a load or store moves; 0: as many as `uops` */
	uint8_t pairs;       /* 1: one micro-operation for each two of them */
	uint8_t early;       /* what a load brings can be used so many cycles sooner; in order, by an address */
	uint8_t group;       /* results of a group are forwarded to operands that are added to; 0 for none */
	uint8_t forward;     /* the latency then */
	uint8_t need[ROLES]; /* in order: so many cycles after its issue is an operand of that role needed */
	uint8_t alone; /* in order: 1: nothing is issued beside it; 2: nothing after it in its cycle; 3: nothing before it */
	uint8_t holds;  /* in order: 1: issued for as many cycles as it takes its port; its time counts from the last */
	uint8_t hurry;  /* in order: so many cycles sooner is its result there, if its operands came so much sooner */
	uint8_t behind; /* in order: an operand comes no sooner than so many cycles behind its instruction's issue */
	uint8_t gives;  /* out of order: bits of the regions that forward its result at once */
	uint8_t takes;  /* out of order: bits of those that it takes one from; from others one comes a cycle later */
	uint8_t multiplies; /* for the report: waiting for it is waiting for a multiplier */
};

/* At most `most` micro-operations that can go to `ports` are dispatched in a cycle; `queue` of them wait there. */
struct limit {
	uint16_t ports;
	uint8_t most;
	uint8_t queue;
};

enum pipeline { PIPELINE_IN_ORDER, PIPELINE_OUT_OF_ORDER };

struct table {
	enum pipeline pipeline;
	struct timing timing[2 * CLASS_COUNT];
	struct limit limits[MOST_LIMITS];
	unsigned int limit_count;
	/* Numbers, by the names that cores/ uses; docs/add-core.md says what each is. */
	uint32_t width, fetch, retire, window, mispredict, taken, call_taken, buses, bind;
	uint32_t writeback, writeback_latency, forward_latency, forward_fail, store_boundary;
	uint32_t line_bytes, data_kib, data_ways, code_kib, code_ways, second_kib, second_ways;
	uint32_t second_latency, memory_latency, prefetch_lines, returns, misses, unaligned, flags_latency;
};

static inline const struct timing *timing_of(const struct table *table, const struct operation *operation)
{
	return &table->timing[2 * operation->class + operation->wide];
}

/* Lines of a table, of which the first says the kind. False if one is not understood. */
bool table_read_kind(struct table *table, const char *kind);
bool table_read_line(struct table *table, const char *line);
/* Fills in classes for which others serve; whether it has what no core can be without. */
bool table_is_complete(struct table *table);

#endif /* WORLDWISE_TABLE_H */
