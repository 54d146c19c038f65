/* SPDX-License-Identifier: BSD-2-Clause */
/* What the crypto TA and its client agree on. */
#ifndef WORLDWISE_APPS_CRYPTO_H
#define WORLDWISE_APPS_CRYPTO_H

#define CRYPTO_TA_UUID { 0xa1f5c2de, 0x0006, 0x4b1c, { 0x9a, 0x3e, 0x63, 0x72, 0x79, 0x70, 0x74, 0x6f } }

/* The longest message that is signed: the TA copies it, so that nobody can change it between two looks. */
#define CRYPTO_MESSAGE_BYTES 1024

/* The longest that is hashed, where it stands. */
#define CRYPTO_DIGEST_BYTES (12 * 1024 * 1024)

/* Room for the longest of any curve. */
#define CRYPTO_NUMBER_BYTES 64

/* Room for what CRYPTO_CHECK says. */
#define CRYPTO_CHECK_BYTES 256

/* A TA has one curve, or none: it is compiled for it. What it lacks is TEE_ERROR_NOT_SUPPORTED. */
enum crypto_command {
	/* [0] value out: what an empty region costs in the TA; [1] value out: what an inner region adds to an outer. */
	CRYPTO_CALIBRATE = 0,

	/*
	 * Tries what works here on known answers and wrong input. [0] value in a: one of the operations below;
	 * [1] memref out: a line for each check, its name with a + or a - before it.
	 */
	CRYPTO_CHECK,

	/* A new key for the session. [0] memref out: public key; [1] memref out: private key, as it is a benchmark's. */
	CRYPTO_KEYGEN,

	/* [0] memref in: message; [1] memref out: signature; [2], [3] value out: the counter at the region's ends. */
	CRYPTO_SIGN,

	/* [0] memref in: message; [1] memref in: signature; [2], [3] as above. */
	CRYPTO_VERIFY,

	/* [0] memref in: the peer's public key; [1] memref out: the secret; [2], [3] as above. */
	CRYPTO_ECDH,

	/* [0] memref in: message; [1] memref out: its SHA-256; [2], [3] as above. */
	CRYPTO_DIGEST,

	/*
	 * How deep the stack goes in a call of its own. [0] value in a: one of SIGN to DIGEST, b: the message's bytes, at
	 * most CRYPTO_MESSAGE_BYTES; [1] value out a: bytes of stack.
	 */
	CRYPTO_MEMORY,

	/* [0] value in a: 1 if a library's random bytes are TEE_GenerateRandom's from now on, 0 if they are the bench's. */
	CRYPTO_RANDOM,
};

#endif /* WORLDWISE_APPS_CRYPTO_H */
