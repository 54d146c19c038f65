/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wolfSSL's configuration for one post-quantum scheme, under the name by which it asks for it (WOLFSSL_USER_SETTINGS). Its
 * assembly reads this too.
 */
#ifndef WORLDWISE_PQC_ADAPTERS_USER_SETTINGS_H
#define WORLDWISE_PQC_ADAPTERS_USER_SETTINGS_H

#define WOLFCRYPT_ONLY
#define SINGLE_THREADED
#define NO_FILESYSTEM
#define NO_WOLFSSL_MEMORY /* memory from malloc() and free() */
#define NO_ERROR_STRINGS
#define NO_RSA
#define NO_DH
#define NO_DSA
#define NO_DES3
#define NO_RC4
#define NO_MD5
#define NO_SHA
#define NO_AES
#define NO_PWDBASED
#define WC_NO_RNG
#define WC_NO_HASHDRBG
#define WOLFSSL_GENERAL_ALIGNMENT 4
#define SIZEOF_LONG_LONG 8
#define WOLFSSL_SHA3
#define WOLFSSL_SHAKE128
#define WOLFSSL_SHAKE256

/* By the numbers of pqc.h, which the assembler could not read. */
#if PQC_SCHEME == 8 || PQC_SCHEME == 9
/* Level 1 hashes by SHA-256; the library's file calls SHA-512 of the other levels too. */
#define WOLFSSL_SHA512
#else
#define NO_SHA256
#define NO_HMAC
#endif /* PQC_SCHEME */

#if PQC_SCHEME < 8
#define NO_ASN
#define WOLFSSL_SMALL_STACK /* what is larger than 100 bytes is allocated */
#else
/* SLH-DSA's file reads keys in ASN.1 and draws random bytes in functions that no program here keeps, and cannot do without. */
#define WC_NO_RNG_SIMPLE
#endif /* PQC_SCHEME: with a small stack every SHA-256 block of SLH-DSA would be an allocation */

#if PQC_SCHEME <= 3 || PQC_SCHEME == 7
#define WOLFSSL_HAVE_MLKEM
#if PQC_SCHEME != 1
#define WOLFSSL_NO_ML_KEM_512
#endif /* PQC_SCHEME */
#if PQC_SCHEME != 2 && PQC_SCHEME != 7
#define WOLFSSL_NO_ML_KEM_768
#endif /* PQC_SCHEME */
#if PQC_SCHEME != 3
#define WOLFSSL_NO_ML_KEM_1024
#endif /* PQC_SCHEME */
#if PQC_SCHEME == 7
#define HAVE_CURVE25519
/* Refuses peers of low order. */
#define WOLFSSL_ECDHX_SHARED_NOT_ZERO
/* On A64 a public key would be made by Ed25519's code, which needs SHA-512 in the program. */
#define WOLFSSL_CURVE25519_NOT_USE_ED25519
#endif /* PQC_SCHEME */
#elif PQC_SCHEME >= 8
#define WOLFSSL_HAVE_SLHDSA
#define WOLFSSL_SLHDSA_PARAM_NO_192
#define WOLFSSL_SLHDSA_PARAM_NO_256
#if PQC_SCHEME <= 9
#define WOLFSSL_SLHDSA_SHA2
#define WOLFSSL_SLHDSA_NO_SHAKE
#define WOLFSSL_SLHDSA_PARAM_NO_SHA2_192
#define WOLFSSL_SLHDSA_PARAM_NO_SHA2_256
#if PQC_SCHEME == 8
#define WOLFSSL_SLHDSA_PARAM_NO_SHA2_128F
#else
#define WOLFSSL_SLHDSA_PARAM_NO_SHA2_128S
#endif /* PQC_SCHEME */
#else
#define WOLFSSL_SLHDSA_PARAM_NO_128S
#endif /* PQC_SCHEME */
#else
#define WOLFSSL_HAVE_MLDSA
#define WOLFSSL_MLDSA_NO_ASN1
#if PQC_SCHEME != 4
#define WOLFSSL_NO_ML_DSA_44
#endif /* PQC_SCHEME */
#if PQC_SCHEME != 5
#define WOLFSSL_NO_ML_DSA_65
#endif /* PQC_SCHEME */
#if PQC_SCHEME != 6
#define WOLFSSL_NO_ML_DSA_87
#endif /* PQC_SCHEME */
#endif /* PQC_SCHEME */

#ifdef OPS_WOLFSSL_SMALL
#define WOLFSSL_MLKEM_SMALL
#define WOLFSSL_MLKEM_MAKEKEY_SMALL_MEM
#define WOLFSSL_MLKEM_ENCAPSULATE_SMALL_MEM
#define WOLFSSL_MLDSA_MAKE_KEY_SMALL_MEM
#define WOLFSSL_MLDSA_SIGN_SMALL_MEM
#define WOLFSSL_MLDSA_VERIFY_SMALL_MEM
#endif /* OPS_WOLFSSL_SMALL */

#ifdef OPS_WOLFSSL_THUMB2
#define WOLFSSL_ARMASM
#define WOLFSSL_ARMASM_THUMB2
#define WOLFSSL_ARMASM_NO_HW_CRYPTO
#define WOLFSSL_ARMASM_NO_NEON
#define WOLFSSL_ARM_ARCH 7
#endif /* OPS_WOLFSSL_THUMB2 */

#ifdef OPS_WOLFSSL_A32
#define WOLFSSL_ARMASM
#define WOLFSSL_ARMASM_NO_HW_CRYPTO
#define WOLFSSL_ARM_ARCH 7
#endif /* OPS_WOLFSSL_A32 */

#ifdef OPS_WOLFSSL_A64
#define WOLFSSL_ARMASM
#define WOLFSSL_ARMASM_NO_HW_CRYPTO
#define WOLFSSL_AARCH64_NO_SQRDMLSH /* an instruction of Armv8.1-A, which a Cortex-A72 lacks */
#endif                              /* OPS_WOLFSSL_A64 */

#endif /* WORLDWISE_PQC_ADAPTERS_USER_SETTINGS_H */
