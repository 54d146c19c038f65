/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mbed TLS 3.6 for a program without an operating system: its default configuration (mbedtls_config.h) cut down to what
 * is measured. No files, clock, network, threads or generator of its own; memory from calloc() and free().
 */
#include "ops_curve.h"

/* As in the default configuration. Left alone with it: windows of 4 bits and comb tables of the base point in flash. */
#ifndef OPS_MBEDTLS_ASM_OFF
#define MBEDTLS_HAVE_ASM
#endif /* OPS_MBEDTLS_ASM_OFF */
#ifndef OPS_MBEDTLS_NIST_OFF
#define MBEDTLS_ECP_NIST_OPTIM
#endif /* OPS_MBEDTLS_NIST_OFF */

#if OPS_CURVE == OPS_CURVE_NONE

#define MBEDTLS_SHA256_C
#define MBEDTLS_SHA512_C
#define MBEDTLS_AES_C
#define MBEDTLS_CIPHER_MODE_CTR
/*
 * Not the default, which computes the tables at the first use, into 8.5 KiB of RAM: the library's own configurations
 * for small devices have them as constants.
 */
#define MBEDTLS_AES_ROM_TABLES

#else

#define MBEDTLS_BIGNUM_C
#define MBEDTLS_ECP_C
#define MBEDTLS_ECDH_C

#if OPS_CURVE == OPS_CURVE_SECP192R1
#define MBEDTLS_ECP_DP_SECP192R1_ENABLED
#elif OPS_CURVE == OPS_CURVE_SECP224R1
#define MBEDTLS_ECP_DP_SECP224R1_ENABLED
#elif OPS_CURVE == OPS_CURVE_SECP256R1
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#elif OPS_CURVE == OPS_CURVE_SECP384R1
#define MBEDTLS_ECP_DP_SECP384R1_ENABLED
#elif OPS_CURVE == OPS_CURVE_SECP256K1
#define MBEDTLS_ECP_DP_SECP256K1_ENABLED
#elif OPS_CURVE == OPS_CURVE_X25519
#define MBEDTLS_ECP_DP_CURVE25519_ENABLED
#endif /* OPS_CURVE */

#if OPS_CURVE != OPS_CURVE_X25519
/* Deterministic as by default: RFC 6979's nonces come from HMAC_DRBG. */
#define MBEDTLS_ECDSA_C
#define MBEDTLS_ECDSA_DETERMINISTIC
#define MBEDTLS_HMAC_DRBG_C
#define MBEDTLS_MD_C
#define MBEDTLS_SHA256_C
/* ECDSA asks for them, for signatures in DER; nothing here calls them. */
#define MBEDTLS_ASN1_PARSE_C
#define MBEDTLS_ASN1_WRITE_C
#endif /* OPS_CURVE_X25519 */

#endif /* OPS_CURVE_NONE */
