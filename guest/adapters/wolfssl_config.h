/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wolfSSL for a program without an operating system: what its template for user settings
 * (examples/configs/user_settings_template.h) chooses for embedded targets, cut down to what is measured.
 */
#ifndef WORLDWISE_WOLFSSL_CONFIG_H
#define WORLDWISE_WOLFSSL_CONFIG_H

#include "ops_curve.h"
#include "ops_given.h"

#define WOLFCRYPT_ONLY
#define SINGLE_THREADED
#define NO_FILESYSTEM
#define NO_WOLFSSL_MEMORY /* memory from malloc() and free() */
#define NO_ERROR_STRINGS
#define NO_ASN
#define NO_RSA
#define NO_DH
#define NO_DSA
#define NO_DES3
#define NO_RC4
#define NO_MD5
#define NO_SHA
#define NO_PWDBASED
#define WOLFSSL_GENERAL_ALIGNMENT 4
#define SIZEOF_LONG_LONG 8
#define WOLFSSL_SMALL_STACK /* the template's: what is larger than 100 bytes is allocated */

/* C throughout, and the smaller version of the code for P-256, which has one of its own. */
#define WOLFSSL_SP_MATH_ALL
#ifndef OPS_WOLFSSL_FAST
#define WOLFSSL_SP_SMALL
#endif /* OPS_WOLFSSL_FAST */
#define ECC_TIMING_RESISTANT
#define ECC_SHAMIR

/* The frame's bytes are taken as they are, without a generator of wolfSSL's in between, so that figures compare. */
#define WC_NO_HASHDRBG
static inline int ops_random_block(unsigned char *bytes, unsigned int length)
{
	ops_random(bytes, length);
	return 0;
}
#define CUSTOM_RAND_GENERATE_BLOCK ops_random_block

#if OPS_CURVE == OPS_CURVE_NONE

#define WOLFSSL_SHA512
#define WOLFSSL_AES_COUNTER
#define NO_AES_DECRYPT /* counter mode only encrypts; with it, the tables of both directions are linked */

#elif OPS_CURVE == OPS_CURVE_ED25519

#define HAVE_ED25519
#define WOLFSSL_SHA512

#elif OPS_CURVE == OPS_CURVE_X25519

#define HAVE_CURVE25519
#define WOLFSSL_ECDHX_SHARED_NOT_ZERO /* refuses peers of low order */

#else

#define HAVE_ECC
#define ECC_USER_CURVES
#if OPS_CURVE == OPS_CURVE_SECP160R1
#define NO_ECC256
#define HAVE_ECC160
#define ECC_MIN_KEY_SZ 160
#elif OPS_CURVE == OPS_CURVE_SECP192R1
#define NO_ECC256
#define HAVE_ECC192
#define ECC_MIN_KEY_SZ 192
#elif OPS_CURVE == OPS_CURVE_SECP224R1
#define NO_ECC256
#define HAVE_ECC224
#elif OPS_CURVE == OPS_CURVE_SECP256R1
#define WOLFSSL_HAVE_SP_ECC
#elif OPS_CURVE == OPS_CURVE_SECP384R1
#define NO_ECC256
#define HAVE_ECC384
#elif OPS_CURVE == OPS_CURVE_SECP256K1
#define NO_ECC_SECP
#define HAVE_ECC_KOBLITZ
#define WOLFSSL_CUSTOM_CURVES /* a coefficient other than -3 */
#endif                        /* which curve */

#endif /* OPS_CURVE */

#ifdef OPS_WOLFSSL_SMALL
#define CURVED25519_SMALL
#endif /* OPS_WOLFSSL_SMALL */

#endif /* WORLDWISE_WOLFSSL_CONFIG_H */
