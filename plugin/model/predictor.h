/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A branch predictor: two-bit counters by address, three tables more by address and history of growing length, of
 * which the longest that knows a branch decides (A. Seznec, P. Michaud: A case for (partially) tagged geometric history
 * length branch prediction, JILP 8, 2006); the last target of each indirect branch; a stack of return addresses.
 */
#ifndef WORLDWISE_PREDICTOR_H
#define WORLDWISE_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "operation.h"

#define COUNTERS 4096u
#define TAGGED 1024u
#define HISTORIES 3
#define TARGETS 1024u
#define MOST_RETURNS 32u

struct tagged {
	uint16_t tag;
	uint8_t counter; /* 0 to 7; taken from 4 */
	uint8_t useful;
};

struct predictor {
	uint8_t counters[COUNTERS];
	struct tagged tagged[HISTORIES][TAGGED];
	uint64_t targets[TARGETS];
	uint64_t returns[MOST_RETURNS];
	uint32_t return_top;
	uint32_t return_limit;
	uint64_t history;
};

void predictor_forget(struct predictor *predictor, uint32_t returns);

/* A branch at `pc` of that kind went to `next`, and would have gone on at `behind`: whether that was foretold. */
bool predictor_was_right(struct predictor *predictor, uint64_t pc, enum branch_kind kind, uint64_t next,
			 uint64_t behind);

#endif /* WORLDWISE_PREDICTOR_H */
