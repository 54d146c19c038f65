/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A post-quantum scheme as a program without any operating system calls it. One C file in this folder per library, whose
 * first comment says where its sources come from, how they are compiled and what it has, as in ../adapters/ops.h, which also
 * has ops_name, ops_open() and ops_frame_sha256(). A file is compiled once for each scheme, with PQC_SCHEME set to one of the
 * numbers below.
 *
 * Keys, ciphertexts and signatures are the octet strings of FIPS 203, FIPS 204 and FIPS 205. Every call reads its keys from bytes.
 * What a scheme draws at random is given to the call: so the host can make the same result again, and no generator is part
 * of what is measured.
 */
#ifndef WORLDWISE_PQC_ADAPTERS_PQC_H
#define WORLDWISE_PQC_ADAPTERS_PQC_H

#include "../adapters/ops.h"

#define PQC_ML_KEM_512 1
#define PQC_ML_KEM_768 2
#define PQC_ML_KEM_1024 3
#define PQC_ML_DSA_44 4
#define PQC_ML_DSA_65 5
#define PQC_ML_DSA_87 6
/* X25519MLKEM768 of TLS 1.3: whatever goes in and comes out is ML-KEM-768's part and, behind it, X25519's. */
#define PQC_X25519_ML_KEM_768 7
#define PQC_SLH_DSA_SHA2_128S 8
#define PQC_SLH_DSA_SHA2_128F 9
#define PQC_SLH_DSA_SHAKE_128F 10

/* PQC_OUTPUT_BYTES: of a ciphertext, or of a signature. */
#if PQC_SCHEME == PQC_ML_KEM_512
#define PQC_NAME "ml-kem-512"
#define PQC_PRIVATE_BYTES 1632
#define PQC_PUBLIC_BYTES 800
#define PQC_OUTPUT_BYTES 768
#elif PQC_SCHEME == PQC_ML_KEM_768
#define PQC_NAME "ml-kem-768"
#define PQC_PRIVATE_BYTES 2400
#define PQC_PUBLIC_BYTES 1184
#define PQC_OUTPUT_BYTES 1088
#elif PQC_SCHEME == PQC_ML_KEM_1024
#define PQC_NAME "ml-kem-1024"
#define PQC_PRIVATE_BYTES 3168
#define PQC_PUBLIC_BYTES 1568
#define PQC_OUTPUT_BYTES 1568
#elif PQC_SCHEME == PQC_ML_DSA_44
#define PQC_NAME "ml-dsa-44"
#define PQC_PRIVATE_BYTES 2560
#define PQC_PUBLIC_BYTES 1312
#define PQC_OUTPUT_BYTES 2420
#elif PQC_SCHEME == PQC_ML_DSA_65
#define PQC_NAME "ml-dsa-65"
#define PQC_PRIVATE_BYTES 4032
#define PQC_PUBLIC_BYTES 1952
#define PQC_OUTPUT_BYTES 3309
#elif PQC_SCHEME == PQC_ML_DSA_87
#define PQC_NAME "ml-dsa-87"
#define PQC_PRIVATE_BYTES 4896
#define PQC_PUBLIC_BYTES 2592
#define PQC_OUTPUT_BYTES 4627
#elif PQC_SCHEME == PQC_X25519_ML_KEM_768
#define PQC_NAME "x25519-ml-kem-768"
#define PQC_PRIVATE_BYTES 2432
#define PQC_PUBLIC_BYTES 1216
#define PQC_OUTPUT_BYTES 1120
#elif PQC_SCHEME == PQC_SLH_DSA_SHA2_128S
#define PQC_NAME "slh-dsa-sha2-128s"
#define PQC_PRIVATE_BYTES 64
#define PQC_PUBLIC_BYTES 32
#define PQC_OUTPUT_BYTES 7856
#elif PQC_SCHEME == PQC_SLH_DSA_SHA2_128F
#define PQC_NAME "slh-dsa-sha2-128f"
#define PQC_PRIVATE_BYTES 64
#define PQC_PUBLIC_BYTES 32
#define PQC_OUTPUT_BYTES 17088
#elif PQC_SCHEME == PQC_SLH_DSA_SHAKE_128F
#define PQC_NAME "slh-dsa-shake-128f"
#define PQC_PRIVATE_BYTES 64
#define PQC_PUBLIC_BYTES 32
#define PQC_OUTPUT_BYTES 17088
#else
#error "PQC_SCHEME must be one of PQC_..."
#endif /* PQC_SCHEME */

#define PQC_IS_KEM (PQC_SCHEME <= PQC_ML_KEM_1024 || PQC_SCHEME == PQC_X25519_ML_KEM_768)
#define PQC_IS_SLH_DSA (PQC_SCHEME >= PQC_SLH_DSA_SHA2_128S)
/* X25519's part of each: a scalar, a coordinate. */
#if PQC_SCHEME == PQC_X25519_ML_KEM_768
#define PQC_X25519_BYTES 32
#else
#define PQC_X25519_BYTES 0
#endif /* PQC_SCHEME */
/* The seed of a key pair: d || z of FIPS 203, xi of FIPS 204, or SK.seed || SK.prf || PK.seed of FIPS 205. */
#if PQC_IS_KEM
#define PQC_SEED_BYTES (64 + PQC_X25519_BYTES)
#elif PQC_IS_SLH_DSA
#define PQC_SEED_BYTES 48
#else
#define PQC_SEED_BYTES 32
#endif /* PQC_IS_KEM */
#if PQC_IS_SLH_DSA
#define PQC_RANDOM_BYTES 16
#else
#define PQC_RANDOM_BYTES (32 + PQC_X25519_BYTES)
#endif /* PQC_IS_SLH_DSA */
#define PQC_SECRET_BYTES (32 + PQC_X25519_BYTES)

/* All return 0, or an error of the library's own; pqc_verify() returns 1 for what is not a valid signature. */

int pqc_keygen(const uint8_t seed[PQC_SEED_BYTES], uint8_t private_key[PQC_PRIVATE_BYTES],
	       uint8_t public_key[PQC_PUBLIC_BYTES]);

#if PQC_IS_KEM
/* `random` is m of FIPS 203. A key that FIPS 203, 7.2, does not take, or a peer of low order, is an error. */
int pqc_encaps(const uint8_t public_key[PQC_PUBLIC_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	       uint8_t ciphertext[PQC_OUTPUT_BYTES], uint8_t secret[PQC_SECRET_BYTES]);

/* A ciphertext that was not made for this key gives another secret and is no error. */
int pqc_decaps(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t ciphertext[PQC_OUTPUT_BYTES],
	       uint8_t secret[PQC_SECRET_BYTES]);
#else
/* What is signed: in pure mode, with a context of 0 to 255 bytes. */
struct pqc_text {
	const uint8_t *message;
	size_t length;
	const uint8_t *context;
	uint8_t context_length;
};

/* `random` is rnd of FIPS 204, or addrnd of FIPS 205. */
int pqc_sign(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	     const struct pqc_text *text, uint8_t signature[PQC_OUTPUT_BYTES]);

/* 0 valid, 1 not valid. */
int pqc_verify(const uint8_t public_key[PQC_PUBLIC_BYTES], const struct pqc_text *text,
	       const uint8_t signature[PQC_OUTPUT_BYTES]);
#endif /* PQC_IS_KEM */

#endif /* WORLDWISE_PQC_ADAPTERS_PQC_H */
