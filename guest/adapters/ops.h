/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A crypto library as a program without any operating system calls it: the interface between what is measured and what
 * measures it. One C file in this folder per library, whose first comment `implementation.toml` says where its sources
 * come from, how they are compiled and what it has; a library of the user's own has the same in a folder of its own.
 *
 * A file is compiled once for each curve, with OPS_CURVE set to one of the numbers of ops_curve.h, and once with
 * OPS_CURVE_NONE for what needs no curve. It defines the functions of the operations that its implementation.toml names, and
 * no others. Nothing here may print, allocate before ops_open(), or keep results from one call to the next.
 *
 * Integers are big-endian and padded, as in SEC 1: a private key is OPS_BYTES long (or OPS_ORDER_BYTES, where the group's
 * order is longer), a public key is X || Y, a signature r || s. Ed25519 and X25519 use the octet strings of RFC 8032 and
 * RFC 7748: a private key is the 32-byte seed or scalar, a public key 32 bytes, a signature 64.
 */
#ifndef WORLDWISE_ADAPTERS_OPS_H
#define WORLDWISE_ADAPTERS_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "ops_curve.h"
#include "ops_given.h"

/* The library's name, as implementation.toml has it. */
extern const char ops_name[];

/* Prepares what outlives a call. Called once, before anything else. Returns 0, or an error of the library's. */
int ops_open(void);

/* All that follows returns 0, or an error of the library's own; ops_verify() returns 1 for what is not a valid signature. */

/* Makes a key pair from random bytes. For X25519 and Ed25519 too: random seed, then the public key. */
int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES]);

/*
 * Signs a message: ECDSA over its SHA-256, hashed here by the library's own SHA-256 or, if it has none, by
 * ops_frame_sha256(); Ed25519 as RFC 8032 says, which hashes with SHA-512. `public_key` is there for Ed25519, which needs
 * it; a library that wants to derive it again may.
 */
int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES]);

/* Verifies the same: 0 valid, 1 not valid (whatever is wrong with it: value, range, key not on the curve). */
int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES]);

/* The X coordinate of the shared point; X25519: RFC 7748's. An invalid peer is an error. */
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES]);

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32]);
int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64]);

/* AES in counter mode (SP 800-38A), key expansion included; key_bytes is 16 or 32. `output` may be `input`. */
int ops_aes_ctr(const uint8_t *key, size_t key_bytes, const uint8_t counter[16], const uint8_t *input, size_t length,
		uint8_t *output);

/* Dhrystone 2.1: so many runs through its loop. Returns 0 if all of its variables have the values they must have. */
int ops_dhrystone(uint32_t runs);

#endif /* WORLDWISE_ADAPTERS_OPS_H */
