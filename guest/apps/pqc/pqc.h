/* SPDX-License-Identifier: BSD-2-Clause */
/* What the TA of post-quantum schemes and its client agree on. Both are compiled for one scheme (PQC_SCHEME). */
#ifndef WORLDWISE_APPS_PQC_H
#define WORLDWISE_APPS_PQC_H

#include "../../pqc-adapters/pqc.h"
#include "uuid.h"

/* The longest message that is signed: the TA copies it, so that nobody can change it between two looks. */
#define PQC_MESSAGE_BYTES 1024
#define PQC_CONTEXT_BYTES 255

/* A session has a key pair, and the inputs of its next calls that the normal world would not give to a product's TA. */
enum pqc_command {
	/* [0] value out: what an empty region costs in the TA; [1] value out: what an inner region adds to an outer. */
	PQC_CALIBRATE = 0,

	/* [0] value in a: one of enum pqc_input; [1] memref in: its bytes. */
	PQC_GIVE,

	/* A key pair of the seed that was given. [0] memref out: public key; [2], [3] value out: the region's ends. */
	PQC_KEYGEN,

	/* [0] memref out: the session's private key, as it is a benchmark's. */
	PQC_PRIVATE_KEY,

	/* [0] memref in: a public key; [1] memref out: ciphertext, then secret; [2], [3] as above. */
	PQC_ENCAPS,

	/* [0] memref in: ciphertext; [1] memref out: secret; [2], [3] as above. */
	PQC_DECAPS,

	/* [0] memref in: message; [1] memref out: signature; [2], [3] as above. */
	PQC_SIGN,

	/* [0] memref in: message; [1] memref in: signature; [2], [3] as above. */
	PQC_VERIFY,

	/* [0] memref in: bytes; [1] memref out: their SHA-256, by OP-TEE's core. */
	PQC_DIGEST,

	/*
	 * What a call takes of the TA's memory, found in calls of their own with a key pair of the seed that was given.
	 * [0] value in a: KEYGEN, ENCAPS, DECAPS, SIGN or VERIFY, b: the message's bytes; [1] value out a: bytes of
	 * stack, b: the fewest bytes of heap, in one piece, with which the call succeeds.
	 */
	PQC_MEMORY,
};

/* What PQC_GIVE takes. A context may have fewer bytes than PQC_CONTEXT_BYTES, or none; all else has its length. */
enum pqc_input {
	PQC_SEED = 0,
	PQC_RANDOM,
	PQC_PRIVATE,
	PQC_PUBLIC,
	PQC_CONTEXT,
};

#endif /* WORLDWISE_APPS_PQC_H */
