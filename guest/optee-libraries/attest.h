/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An implementation of the measured operations, as its user calls them: ECDSA on NIST P-256 over SHA-256 of a short
 * input, and SHA-256 alone. This folder has one file for each of OP-TEE's libraries; the apps `attestation` and `sha256`
 * measure all implementations alike.
 *
 * All integers are big-endian, as in SEC 1: a public key is X || Y, a signature r || s.
 */
#ifndef WORLDWISE_OPTEE_LIBRARIES_ATTEST_H
#define WORLDWISE_OPTEE_LIBRARIES_ATTEST_H

#include <stddef.h>
#include <stdint.h>

#include "../bench/calibrate.h"

#define P256_BYTES 32

struct attest_ops {
	const char *name;

	/*
	 * Where an implementation measures from inside too (a TA), it fills its own `struct bench_span` per call, and
	 * open() says and records what measuring costs there. NULL for one that runs in the caller's world.
	 */
	const char *inner_place;
	struct bench_overhead inner_overhead;

	/* Prepares whatever outlives a call (context, session, random generator). Returns 0 or a negative error. */
	int (*open)(struct attest_ops *ops);

	/* Makes a new key and keeps it for the calls that follow. */
	int (*keygen)(struct bench_span *inner);

	/* Gives the current key away, private part and all: it is a benchmark's, and a witness checks it. */
	int (*export_key)(uint8_t public_key[2 * P256_BYTES], uint8_t private_key[P256_BYTES]);

	/* Hashes `message` with SHA-256 and signs the digest. */
	int (*sign)(const uint8_t *message, size_t length, uint8_t signature[2 * P256_BYTES], struct bench_span *inner);

	/* Hashes and verifies with the current public key: 0 if valid, 1 if not, negative on any other failure. */
	int (*verify)(const uint8_t *message, size_t length, const uint8_t signature[2 * P256_BYTES],
		      struct bench_span *inner);

	/*
	 * SHA-256 of a message that is handed over in pieces of `chunk` bytes. Returns 0 or a negative error. Needs no
	 * open(). NULL for what only attests.
	 */
	int (*hash)(const uint8_t *message, size_t length, size_t chunk, uint8_t digest[32]);

	void (*close)(void);
};

#endif /* WORLDWISE_OPTEE_LIBRARIES_ATTEST_H */
