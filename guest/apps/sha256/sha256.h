/* SPDX-License-Identifier: BSD-2-Clause */
/* What the SHA-256 TA and its client agree on. */
#ifndef WORLDWISE_APPS_SHA256_H
#define WORLDWISE_APPS_SHA256_H

#include "../../bench/calibrate.h"

#define SHA256_TA_UUID { 0xa1f5c2de, 0x0009, 0x4b1c, { 0x9a, 0x3e, 0x73, 0x68, 0x61, 0x32, 0x35, 0x36 } }

enum sha256_command {
	/* No parameters, no work: the cost of a call. */
	SHA256_EMPTY = 0,

	/* Any parameters, no work: what a call costs that brings them. */
	SHA256_TOUCH,

	/* Lets the TA read the cycle counter, until RESTORE or the session's end. What reads it is BAD_STATE without. */
	SHA256_COUNTER_ENABLE,

	/* Takes that back. */
	SHA256_COUNTER_RESTORE,

	/* [0] value out: PMCR_EL0, PMCNTENSET_EL0; [1] value out: PMCCFILTR_EL0, PMUSERENR_EL0. */
	SHA256_COUNTER,

	/* [0] memref out: struct sha256_overheads. */
	SHA256_CALIBRATE,

	/* [0] memref in: the next piece of a message. */
	SHA256_UPDATE,

	/* [0] memref in: the last piece; [1] memref out: digest. */
	SHA256_FINAL,

	/* [0] memref out: struct sha256_spans of the calls of UPDATE and FINAL since the last time. */
	SHA256_SPANS,
};

/* What measuring by the cycle counter costs: `api` around the calls of the API, `ta` around the whole command. */
struct sha256_overheads {
	struct bench_overhead api;
	struct bench_overhead ta;
};

struct sha256_spans {
	struct bench_total api;
	struct bench_total ta;
};

#endif /* WORLDWISE_APPS_SHA256_H */
