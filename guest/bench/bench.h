/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame around every case: its plan, its samples, its end. */
#ifndef WORLDWISE_BENCH_BENCH_H
#define WORLDWISE_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate.h"

struct bench_plan {
	const char *program;
	const char *operation;
	const char *implementation;
	uint32_t warmup;   /* calls after the first that are recorded but kept out of the statistics */
	uint32_t samples;  /* calls that make the statistics */
	char **parameters; /* KEY=VALUE, ended by NULL */
};

/* How many calls a case makes: the first (cold) one, the warm-up and the samples. */
static inline uint32_t bench_calls(const struct bench_plan *plan)
{
	return 1 + plan->warmup + plan->samples;
}

/*
 * Reads OPERATION WARMUP SAMPLES [KEY=VALUE ...] from a program's arguments, chooses the channel (the emulator's
 * records.jsonl, or standard output when the program's first argument is "-", as by hand or on a board) and sends the
 * start record. Ends the program with a usage message if they are not well-formed. The arguments must outlive the plan.
 */
struct bench_plan bench_start(const char *program, const char *implementation, int argc, char **argv);

/* The value of a parameter, or NULL if it was not given. */
const char *bench_parameter(const struct bench_plan *plan, const char *key);

/* A parameter that is a number of bytes, or `otherwise` if it was not given. Ends the program if it is no number. */
size_t bench_parameter_bytes(const struct bench_plan *plan, const char *key, size_t otherwise);

/* Measures what measuring costs at `place` and records it. */
struct bench_overhead bench_calibrate_place(const char *place);

/* Records an overhead that was measured elsewhere (in the TA), by the counter `clock`. */
void bench_record_overhead(const char *place, const char *clock, struct bench_overhead overhead);

/*
 * Records call number `index`. `overhead` is subtracted, and so is `inner`, what the measuring of an inner region added
 * to this one (0 where there is none).
 */
void bench_record_sample(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
			 struct bench_span span, uint64_t overhead, uint64_t inner);

/* The same for a call that took several passes through its region; `overhead` and `inner` are those of one pass. */
void bench_record_total(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
			const struct bench_total *total, uint64_t overhead, uint64_t inner);

void bench_record_check(const char *name, const char *measure, int ok);

/* Records why the case cannot be trusted and ends the program with status 1: a benchmark never times a wrong answer. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Records the end of a complete case. Returns the program's exit status.
 *
 * `idle` is how often the processor had nothing to do since bench_start(). The counter goes on then, without
 * instructions: a case in which it happened cannot be trusted, and the host refuses it.
 */
int bench_finish(uint64_t idle);

#endif /* WORLDWISE_BENCH_BENCH_H */
