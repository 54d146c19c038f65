/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operation `abuse`: every command of a TA called wrongly, each way that a table of its commands gives, and then many
 * times at random. A wrong call must get the one error that is due, and change nothing that the caller can see; no call
 * whatever may make the TA panic.
 */
#ifndef WORLDWISE_APPS_ABUSE_H
#define WORLDWISE_APPS_ABUSE_H

#include <stdbool.h>
#include <tee_client_api.h>

#include "../../bench/bench.h"

/* No size is too large, as far as one call can bring it. */
#define ABUSE_NO_LIMIT UINT32_MAX
#define ABUSE_MOST_VALUES 6

/*
 * A parameter as a right call has it. Errors that are left out (0) are TEEC_ERROR_SHORT_BUFFER for memory out that is
 * too small, and TEEC_ERROR_BAD_PARAMETERS for all else.
 */
struct abuse_param {
	uint32_t type;       /* TEEC_NONE, TEEC_VALUE_*, TEEC_MEMREF_TEMP_* */
	uint32_t a, b;       /* of a value that goes in */
	uint32_t size;       /* of memory: its bytes in the right call */
	uint32_t least;      /* the fewest that the command takes, given all else; 0: it takes none as well */
	uint32_t most;       /* and the most; ABUSE_NO_LIMIT */
	uint32_t step;       /* sizes must be its multiples; 0: they need not */
	TEEC_Result small;   /* what fewer bytes get */
	TEEC_Result zero;    /* and of no parameter, where that differs; 0: the same */
	TEEC_Result large;   /* what more bytes get */
	TEEC_Result uneven;  /* what a size between two steps gets */
	const void *content; /* of memory that goes in: `size` bytes of the right call; NULL if any will do */
};

#define ABUSE_NONE { 0 }
#define ABUSE_VALUE_IN(first, second) { .type = TEEC_VALUE_INPUT, .a = (first), .b = (second) }
#define ABUSE_VALUE_OUT { .type = TEEC_VALUE_OUTPUT }
#define ABUSE_VALUE_INOUT(first, second) { .type = TEEC_VALUE_INOUT, .a = (first), .b = (second) }
/* Memory that is right from `fewest` to `greatest` bytes, and has `bytes` in the right call. */
#define ABUSE_IN(bytes, fewest, greatest)                                                                              \
	{ .type = TEEC_MEMREF_TEMP_INPUT, .size = (bytes), .least = (fewest), .most = (greatest) }
#define ABUSE_OUT(bytes, fewest, greatest)                                                                             \
	{ .type = TEEC_MEMREF_TEMP_OUTPUT, .size = (bytes), .least = (fewest), .most = (greatest) }
#define ABUSE_INOUT(bytes, fewest, greatest)                                                                           \
	{ .type = TEEC_MEMREF_TEMP_INOUT, .size = (bytes), .least = (fewest), .most = (greatest) }

/* Memory of one size alone, where another is a wrong parameter: not a buffer that could be larger. */
#define ABUSE_EXACTLY(kind, bytes)                                                                                     \
	{ .type = (kind), .size = (bytes), .least = (bytes), .most = (bytes), .small = TEEC_ERROR_BAD_PARAMETERS }
#define ABUSE_EXACTLY_IN(bytes) ABUSE_EXACTLY(TEEC_MEMREF_TEMP_INPUT, bytes)
#define ABUSE_EXACTLY_OUT(bytes) ABUSE_EXACTLY(TEEC_MEMREF_TEMP_OUTPUT, bytes)

struct abuse_command {
	const char *name;
	uint32_t command;
	struct abuse_param params[TEEC_CONFIG_PAYLOAD_REF_COUNT];

	/* What must have been called before in the session, itself after its own predecessor; NULL if nothing. */
	const struct abuse_command *before;
	TEEC_Result without; /* what a right call gets without it; 0: TEEC_ERROR_BAD_STATE */
	/* Ends within the session what `before` began: a right call then gets the same as without. NULL if none does. */
	const struct abuse_command *ends;
	/* Takes back what a right call leaves behind when its session is closed; NULL if there is nothing. */
	const struct abuse_command *undo;

	TEEC_Result right; /* what a right call gets; 0: TEEC_SUCCESS */
	bool any;          /* it takes parameters of any types: there is no wrong one */
	bool seldom;       /* it costs much, and is called at random less often */

	/* Values that are of the right type and wrong all the same. It ends where `result` is TEEC_SUCCESS. */
	struct {
		uint32_t parameter;
		uint32_t a, b;
		TEEC_Result result;
	} values[ABUSE_MOST_VALUES];
};

struct abuse_table {
	const struct abuse_command *commands;
	size_t count;
	/* Takes away what random calls leave behind when their sessions are closed; NULL if there is nothing. */
	void (*clean)(void);
	/* A command that is never called, and why; NULL if there is none. */
	const char *left_out_because;
	uint32_t left_out;
};

/* The app's own table, defined by its client: without it `abuse` is refused. */
extern const struct abuse_table app_abuse __attribute__((weak));

/* Does it all and records each attempt as an outcome. Ends the program if any went otherwise than it must. */
void abuse_case(const struct bench_plan *plan, const struct abuse_table *table);

#endif /* WORLDWISE_APPS_ABUSE_H */
