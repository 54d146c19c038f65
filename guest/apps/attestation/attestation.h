/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attestation's TA and its client agree on. The keys are on NIST P-256; all integers are big-endian. */
#ifndef WORLDWISE_APPS_ATTESTATION_H
#define WORLDWISE_APPS_ATTESTATION_H

#define ATTEST_TA_UUID { 0x7d2f9f7c, 0x5b0e, 0x4b1c, { 0x9a, 0x3e, 0x61, 0x74, 0x74, 0x65, 0x73, 0x74 } }

/* A private key; a public key X || Y, and a signature r || s. */
#define ATTEST_SCALAR 32
#define ATTEST_POINT 64

/* The most that a persistent object can have. */
#define ATTEST_OBJECT_BYTES 4096

/* What takes a message, a key or an object gets BAD_STATE without a key, or an object, made before in the session. */
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

	/* [0] memref in: message; [1] memref in: signature; [2], [3] as above. SIGNATURE_INVALID if it is not valid. */
	ATTEST_VERIFY,

	/* Panics: lets the tests see what a panic looks like to a user. */
	ATTEST_PANIC,

	/* [0] memref in: content of a new persistent object, at most ATTEST_OBJECT_BYTES; [2], [3] as for KEYGEN. */
	ATTEST_STORAGE_CREATE,

	/* [0] memref out: content of that object. */
	ATTEST_STORAGE_READ,

	/* Deletes the object. */
	ATTEST_STORAGE_DELETE,
};

#endif /* WORLDWISE_APPS_ATTESTATION_H */
