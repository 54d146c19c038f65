/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attestation TA and its client agree on. */
#ifndef WORLDWISE_OPS_ATTEST_TA_H
#define WORLDWISE_OPS_ATTEST_TA_H

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
};

#endif /* WORLDWISE_OPS_ATTEST_TA_H */
