/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library behind the gateway: one gate for all of its operations, since a gate has no more than four arguments. The request
 * has the shape of psa_call() in Arm's PSA Firmware Framework for M (DEN 0063): vectors in and out.
 */
#ifndef WORLDWISE_TZM_LIBRARY_H
#define WORLDWISE_TZM_LIBRARY_H

#include "secure.h"

enum library_operation {
	LIBRARY_NOTHING,
	LIBRARY_OPEN,
	LIBRARY_KEYGEN,
	LIBRARY_SIGN,
	LIBRARY_VERIFY,
	LIBRARY_ECDH,
	LIBRARY_HASH,
	LIBRARY_AES,
	LIBRARY_DHRYSTONE,
	LIBRARY_ENCAPS,
	LIBRARY_DECAPS,
};

#define LIBRARY_INPUTS 4
#define LIBRARY_OUTPUTS 2

struct library_input {
	const void *base;
	size_t length;
};

struct library_output {
	void *base;
	size_t length;
};

/* What the caller gives and wants. Vectors that are not used are empty. */
struct library_request {
	enum library_operation operation;
	struct library_input in[LIBRARY_INPUTS];
	struct library_output out[LIBRARY_OUTPUTS];
};

/*
 * Checks that the caller may read the request and its inputs, and write its outputs, and does it. Nothing is copied but the
 * request. Returns what the library returns, or GATE_REFUSED.
 */
int GATE gate_library(const struct library_request *request);

#endif /* WORLDWISE_TZM_LIBRARY_H */
