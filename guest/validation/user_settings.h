/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wolfSSL's settings in its project for STM32CubeIDE (IDE/STM32Cube/default_conf.ftl), as its published figures of
 * boards were made with, cut down to what is measured. VALIDATION_THUMB2 adds the assembly for Armv7-M that the heading
 * of some figures names.
 */
#ifndef WORLDWISE_VALIDATION_USER_SETTINGS_H
#define WORLDWISE_VALIDATION_USER_SETTINGS_H

#include "randombytes.h"

#define WOLFCRYPT_ONLY
#define SINGLE_THREADED
#define NO_FILESYSTEM
#define NO_ASN
#define NO_RSA
#define NO_DH
#define NO_DSA
#define NO_DES3
#define NO_RC4
#define NO_MD4
#define NO_MD5
#define NO_SHA
#define NO_PWDBASED
#define NO_ERROR_STRINGS
#define NO_WOLFSSL_MEMORY /* memory from malloc() and free() */
#define SIZEOF_LONG_LONG 8
#define WOLFSSL_GENERAL_ALIGNMENT 4
#define WOLFSSL_SMALL_STACK

/* Single precision in assembly for Cortex-M3 and newer, the small version. */
#define WOLFSSL_SP
#define WOLFSSL_SP_SMALL
#define WOLFSSL_SP_MATH
#define WOLFSSL_HAVE_SP_ECC
#define SP_WORD_SIZE 32
#define WOLFSSL_SP_ASM
#define WOLFSSL_SP_ARM_CORTEX_M_ASM

#define HAVE_ECC
#define ECC_USER_CURVES
#define ECC_SHAMIR
#define ECC_TIMING_RESISTANT
#define HAVE_AES_CBC
#define HAVE_AES_DECRYPT
#define HAVE_CHACHA
#define HAVE_POLY1305
#define WOLFSSL_SHA512
#ifdef VALIDATION_THUMB2
#define HAVE_CURVE25519
#define HAVE_ED25519
#define WOLFSSL_ARMASM
#define WOLFSSL_ARMASM_INLINE
#define WOLFSSL_ARMASM_NO_HW_CRYPTO
#define WOLFSSL_ARMASM_NO_NEON
#define WOLFSSL_ARM_ARCH 7
#endif /* VALIDATION_THUMB2 */

/* The boards' seed is from their generator; ours is the same for each cell. */
static inline int validation_seed(unsigned char *seed, unsigned int length)
{
	randombytes(seed, length);
	return 0;
}
#define HAVE_HASHDRBG
#define CUSTOM_RAND_GENERATE_SEED validation_seed

#endif /* WORLDWISE_VALIDATION_USER_SETTINGS_H */
