/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attestation TA and its client agree on. */
#ifndef WORLDWISE_OPS_ATTEST_TA_H
#define WORLDWISE_OPS_ATTEST_TA_H

#include "../bench/calibrate.h"

#define ATTEST_TA_UUID { 0x7d2f9f7c, 0x5b0e, 0x4b1c, { 0x9a, 0x3e, 0x61, 0x74, 0x74, 0x65, 0x73, 0x74 } }

enum attest_command {
	/* No parameters, no work: the cost of a call. */
	ATTEST_EMPTY = 0,

	/* [0] value out: what an empty region costs in the TA; [1] value out: what an inner region adds to an outer. */
	ATTEST_CALIBRATE,

	/* [2], [3] value out: counter at the region's begin and end. */
	ATTEST_KEYGEN,

	/* [0] memref out: public key X || Y; [1] memref out: private key. */
	ATTEST_EXPORT,

	/* [0] memref in: message; [1] memref out: signature r || s; [2], [3] as above. */
	ATTEST_SIGN,

	/* [0] memref in: message; [1] memref in: signature; [2], [3] as above. */
	ATTEST_VERIFY,

	/* Panics: lets the tests see what a panic looks like to a user. */
	ATTEST_PANIC,

	/* Lets the TA read the cycle counter, until RESTORE or the session's end. [0], [1] value out: see COUNTER. */
	ATTEST_COUNTER_ENABLE,

	/* Takes that back. */
	ATTEST_COUNTER_RESTORE,

	/* [0] value out: PMCR_EL0, PMCNTENSET_EL0; [1] value out: PMCCFILTR_EL0, PMUSERENR_EL0. */
	ATTEST_COUNTER,

	/* [0] memref out: struct attest_overheads. */
	ATTEST_CALIBRATE_CYCLES,

	/* [0] memref in: the next piece of a message to be hashed with SHA-256. */
	ATTEST_DIGEST_UPDATE,

	/* [0] memref in: the last piece; [1] memref out: digest. */
	ATTEST_DIGEST_FINAL,

	/* Any parameters, no work: what a call costs that brings them. */
	ATTEST_TOUCH,

	/* [0] memref out: struct attest_spans of the calls of DIGEST_* since the last time. */
	ATTEST_SPANS,

	/* [0] memref in: content of a new persistent object, at most ATTEST_OBJECT_BYTES; [2], [3] as for KEYGEN. */
	ATTEST_STORAGE_CREATE,

	/* [0] memref out: content of that object. */
	ATTEST_STORAGE_READ,

	/* Deletes the object. */
	ATTEST_STORAGE_DELETE,
};

#define ATTEST_OBJECT_BYTES 4096

/* What measuring by the cycle counter costs: `api` around the calls of the API, `ta` around the whole command. */
struct attest_overheads {
	struct bench_overhead api;
	struct bench_overhead ta;
};

struct attest_spans {
	struct bench_total api;
	struct bench_total ta;
};

#endif /* WORLDWISE_OPS_ATTEST_TA_H */
