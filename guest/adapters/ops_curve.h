/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A curve's number and the lengths of its octet strings. Macros alone, for libraries' configurations: what these do not
 * make another text of is compiled once for all curves.
 */
#ifndef WORLDWISE_ADAPTERS_OPS_CURVE_H
#define WORLDWISE_ADAPTERS_OPS_CURVE_H

#define OPS_CURVE_NONE 0
#define OPS_CURVE_SECP160R1 1
#define OPS_CURVE_SECP192R1 2
#define OPS_CURVE_SECP224R1 3
#define OPS_CURVE_SECP256R1 4
#define OPS_CURVE_SECP384R1 5
#define OPS_CURVE_SECP256K1 6
#define OPS_CURVE_ED25519 7
#define OPS_CURVE_X25519 8

#ifndef OPS_CURVE
#error "OPS_CURVE must be one of OPS_CURVE_..."
#endif

#if OPS_CURVE == OPS_CURVE_SECP160R1
#define OPS_BYTES 20
#define OPS_ORDER_BYTES 21 /* its order has 161 bits */
#elif OPS_CURVE == OPS_CURVE_SECP192R1
#define OPS_BYTES 24
#define OPS_ORDER_BYTES 24
#elif OPS_CURVE == OPS_CURVE_SECP224R1
#define OPS_BYTES 28
#define OPS_ORDER_BYTES 28
#elif OPS_CURVE == OPS_CURVE_SECP384R1
#define OPS_BYTES 48
#define OPS_ORDER_BYTES 48
#else
#define OPS_BYTES 32
#define OPS_ORDER_BYTES 32
#endif /* OPS_CURVE */

#define OPS_PRIVATE_BYTES OPS_ORDER_BYTES
#if OPS_CURVE == OPS_CURVE_ED25519 || OPS_CURVE == OPS_CURVE_X25519
#define OPS_PUBLIC_BYTES 32
#else
#define OPS_PUBLIC_BYTES (2 * OPS_BYTES)
#endif /* OPS_CURVE */
#define OPS_SIGNATURE_BYTES (2 * OPS_ORDER_BYTES)
#define OPS_SECRET_BYTES OPS_BYTES

#endif /* WORLDWISE_ADAPTERS_OPS_CURVE_H */
