/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A case of AES, whoever does it: the four calls that make a message another one, in order, on state that is made anew
 * for every sample. The TEE's client and the Linux program each bring their own calls.
 */
#ifndef WORLDWISE_APPS_AES_CASE_H
#define WORLDWISE_APPS_AES_CASE_H

#include "../../bench/bench.h"
#include "aes.h"

#define CASE_MOST_PLACES 3

/* What a call did that is not "it went well"; everything else is a failure of the caller's own kind. */
#define CASE_FORGED 1

enum case_call {
	CASE_PREPARE,
	CASE_SET_KEY,
	CASE_SET_IV, /* of GCM: the nonce, and what is authenticated alone */
	CASE_CIPHER,
};
#define CASE_CALLS 4

/* One message and what is done with it. The sizes are those of the buffers, of GCM with room for the tag. */
struct case_job {
	enum aes_mode mode;
	enum aes_direction direction;
	const uint8_t *key;
	const uint8_t *iv;
	const uint8_t *aad;
	uint8_t *in;
	uint8_t *out;
	size_t key_size;
	size_t iv_size;
	size_t aad_size;
	size_t in_size;
	size_t out_size;
};

/* Who does it, and where it is measured: `count` places, the innermost first. */
struct case_ops {
	const char *places[CASE_MOST_PLACES];
	struct bench_overhead overheads[CASE_MOST_PLACES];
	int count;
	int wipes; /* whether nothing is left in the output of a message that was forged */

	/* Does one call and gives its spans. Returns 0, CASE_FORGED from CASE_CIPHER, or what went wrong. */
	uint32_t (*call)(enum case_call call, const struct case_job *job, struct bench_span spans[CASE_MOST_PLACES]);

	/* Frees what CASE_PREPARE made: not measured. */
	void (*release)(void);
};

/* Does the whole case: checks, then samples. Ends the program if something is wrong. */
void case_run(const struct bench_plan *plan, const struct case_ops *ops);

#endif /* WORLDWISE_APPS_AES_CASE_H */
