/* SPDX-License-Identifier: BSD-2-Clause */
/* What the adapters of both versions of mbed TLS begin with: the library's headers, and its name of the curve. */
#ifndef WORLDWISE_ADAPTERS_MBEDTLS_COMMON_H
#define WORLDWISE_ADAPTERS_MBEDTLS_COMMON_H

#include <string.h>

#include <mbedtls/aes.h>
#include <mbedtls/ecdh.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/ecp.h>
#include <mbedtls/sha256.h>
#include <mbedtls/sha512.h>

#include "ops.h"

#if OPS_CURVE == OPS_CURVE_SECP192R1
#define GROUP MBEDTLS_ECP_DP_SECP192R1
#elif OPS_CURVE == OPS_CURVE_SECP224R1
#define GROUP MBEDTLS_ECP_DP_SECP224R1
#elif OPS_CURVE == OPS_CURVE_SECP256R1
#define GROUP MBEDTLS_ECP_DP_SECP256R1
#elif OPS_CURVE == OPS_CURVE_SECP384R1
#define GROUP MBEDTLS_ECP_DP_SECP384R1
#elif OPS_CURVE == OPS_CURVE_SECP256K1
#define GROUP MBEDTLS_ECP_DP_SECP256K1
#elif OPS_CURVE == OPS_CURVE_X25519
#define GROUP MBEDTLS_ECP_DP_CURVE25519
#endif /* OPS_CURVE */

#endif /* WORLDWISE_ADAPTERS_MBEDTLS_COMMON_H */
