/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of microcontrollers that issue two instructions a cycle through stages of their own: Cortex-M7, Cortex-M55. */
#ifndef WORLDWISE_MODEL_DUAL_H
#define WORLDWISE_MODEL_DUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dual_cache.h"
#include "flash.h"
#include "model.h"
#include "operation.h"
#include "predictor.h"

#define DUAL_UNITS 16
#define DUAL_STORES 16 /* words that were stored last */
#define DUAL_QUEUE 8   /* blocks of code that the fetch unit can be ahead, at most */

/* A product, a loaded word, what is made in the block of an IT, a word whose bytes were reversed. */
#define LATE_PRODUCT 1u
#define LATE_WORD 2u
#define LATE_CONDITIONAL 4u
#define LATE_REVERSED 8u

/* What instructions of one class cost. Times are cycles behind the first stage that executes. */
struct dual_class {
	bool known;       /* the table has it; else its instructions are outside what the model covers */
	bool outside;     /* known, but without figures to judge it by */
	uint8_t cycles;   /* that it is issued for; 0 is 1 */
	uint8_t together; /* registers that a load or store of several moves in a cycle; 0 if it moves one alone */
	uint8_t latency;  /* from issue until the result is there */
	uint8_t early;    /* 1: as the first of a cycle it can execute a stage sooner; 2: also as the second */
	uint8_t need[ROLES];
	uint16_t units;  /* a mask of units, of each of which there is one */
	uint16_t second; /* the same as the second instruction of a cycle, if `seconds` */
	bool seconds;
	uint8_t first;    /* 1: it is never the second of a cycle */
	uint8_t alone;    /* 1: nothing is issued beside it */
	uint8_t pairs;    /* 1: one of two narrow instructions that go together must be such */
	uint8_t bypassed; /* 1: it does not get what a load of a word brings as soon as others do */
	uint8_t quick;    /* 1: a load of a word, whose data others get sooner than such an instruction */
	uint8_t multiplies;
	uint8_t late; /* LATE_*: what its results are, but for LATE_CONDITIONAL */
	uint8_t busy; /* so many cycles its units take no other: the beats of a vector; 0 if that is not looked at */
};

/* Numbers of a core, by the names that cores/ uses. What a core does not have is 0. */
struct dual_numbers {
	uint32_t width, narrow_pairs, writeback_latency, flags_latency, mispredict, mispredict_early, flags_ahead;
	uint32_t fetch_bytes, fetch_queue, taken, banks, unaligned, aligned_pairs, mve;
	uint32_t store_to_load, index_late, product_address, conditional_late, reverse_late;
	/* Caches before the flash; a line of 0 bytes for none. */
	uint32_t line_bytes, line_first, bus_bytes, bus_cycles, code_kib, code_ways, data_kib, data_ways;
};

struct dual_value {
	uint64_t ready;
	uint8_t cause;
	bool quick;
	uint8_t late; /* LATE_*: what it is that some get later than others */
};

/* A word that was stored, and when a load can have it. */
struct dual_store {
	uint64_t word; /* address / 4 plus one */
	uint64_t ready;
};

struct dual {
	struct dual_class classes[CLASS_COUNT];
	struct dual_numbers numbers;
	struct flash flash;
	struct predictor predictor;
	struct dual_fill fill;
	struct dual_cache code_cache;
	struct dual_cache data_cache;
	struct dual_value values[REGISTERS];

	uint64_t now;    /* the cycle in which the last instruction was issued, or until which it holds the pipeline */
	uint32_t issued; /* instructions in it; as many as the width if no other may be in it */
	uint16_t units;  /* that they take */
	bool narrow;     /* whether the first of them has two bytes */
	bool pairs;      /* and is of a class that pairs */
	bool loads;      /* whether one of them is a load */
	uint64_t bank;   /* the bank that it reads */
	uint64_t free[DUAL_UNITS]; /* when each unit takes another, of those that are busy */
	bool emptied;              /* the next instruction comes behind a branch that went another way */

	struct dual_store stored[DUAL_STORES];
	uint32_t stores;
	uint64_t stored_until; /* from which a load can have all of them */
	uint64_t bus;          /* when the bus to the flash takes the next line */

	uint32_t fetch_bits;       /* bytes of a block: 2 to this power */
	uint64_t block;            /* the last block of code that was fetched */
	uint64_t fetched;          /* when it came */
	uint64_t left[DUAL_QUEUE]; /* when the last blocks were left for the next */
	uint32_t blocks;
};

/* One line of a core's table behind `core` and `kind`. False if it says nothing that this kind of core has. */
bool dual_read_line(struct dual *dual, const char *line);
/* Behind the last line. False if the engine cannot do without what the table lacks; the reason goes to stderr. */
bool dual_complete(const struct dual *dual);
struct dual *dual_new(void);

/* As model_run and model_forget; the operations are those of a block of T32 at `pc`. */
void dual_run(struct dual *dual, uint64_t pc, const struct operation *operations, uint32_t instructions,
	      const struct access *accesses, size_t count, uint64_t next, struct spent *spent);
void dual_forget(struct dual *dual);

#endif /* WORLDWISE_MODEL_DUAL_H */
