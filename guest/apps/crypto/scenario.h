/* SPDX-License-Identifier: BSD-2-Clause */
/* The cases of this app, the same in the TEE and in Linux. */
#ifndef WORLDWISE_APPS_CRYPTO_SCENARIO_H
#define WORLDWISE_APPS_CRYPTO_SCENARIO_H

#include "../../bench/bench.h"

/* How long a curve's octet strings are, in bytes; see guest/adapters/ops.h. 0 for what it lacks. */
struct crypto_lengths {
	const char *curve;
	size_t private_key;
	size_t public_key;
	size_t signature;
	size_t secret;
};

/* Whoever does the work. All functions return 0, 1 for a signature that is not valid, or another error. */
struct crypto_world {
	const char *place;

	/* Where the world measures from inside too; NULL for none. */
	const char *inner_place;
	struct bench_overhead inner_overhead;

	/* Tries known answers and records the checks. */
	void (*check)(const char *operation);

	/* A new key of one of two sides; the measured one is 0. */
	int (*keygen)(int side, const struct crypto_lengths *lengths, uint8_t *public_key, uint8_t *private_key);

	int (*sign)(const uint8_t *message, size_t length, uint8_t *signature, size_t signature_length,
		    struct bench_span *inner);
	int (*verify)(const uint8_t *message, size_t length, const uint8_t *signature, size_t signature_length,
		      struct bench_span *inner);
	int (*ecdh)(int side, const struct crypto_lengths *lengths, const uint8_t *peer, uint8_t *secret,
		    struct bench_span *inner);
	int (*digest)(const uint8_t *message, size_t length, uint8_t digest[32], struct bench_span *inner);

	/* Bytes of stack that a call takes where it works; NULL where no case needs it. */
	uint32_t (*stack)(const char *operation, size_t length);
};

/* Runs the plan's operation (sign, verify, ecdh or digest). A wrong answer ends the program with an error record. */
void scenario_crypto(const struct bench_plan *plan, const struct crypto_world *world);

#endif /* WORLDWISE_APPS_CRYPTO_SCENARIO_H */
