/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program tries that owns the normal world, and so the server's process: to read what a client sends whose key is enrolled
 * for relaying alone. It has every command of the TA, all records, the messages, and all statements of the authority. The threat
 * model in docs/DESIGN.md has a line for each.
 */
#ifndef ATTEMPTS_H
#define ATTEMPTS_H

#include "test.h"

struct attempt {
	const char *what;
	const char *sent;
	TEE_Result (*run)(void);
	/* The same with the right in its place, so that the attempt is known to be one. */
	const char *control;
	TEE_Result (*run_control)(void);
};

struct outcome {
	const struct attempt *attempt;
	TEE_Result answer;  /* to the attempt */
	bool read;          /* something of the message, or of a key, came out */
	TEE_Result control; /* TEE_SUCCESS, and what is due came out */
};

/* Refused is what has an error, and gave nothing away. */
bool attempt_holds(const struct outcome *outcome);
/* A row of a table, to standard output. */
void attempt_print(const struct outcome *outcome);
/*
 * Makes all attempts, and tells each outcome; how many hold. The TA has an empty storage. With `lose_bucket`, which makes a
 * client's bucket unreadable and loads the TA anew, there is one attempt more.
 */
unsigned int attempts_make(void (*tell)(const struct outcome *outcome), void (*lose_bucket)(const char *id));
unsigned int attempts_count(bool with_loss);

#endif /* ATTEMPTS_H */
