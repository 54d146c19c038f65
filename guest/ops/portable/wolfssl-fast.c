/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-fast"
title = "wolfSSL (fast P-256)"
about = "as wolfssl, without WOLFSSL_SP_SMALL: P-256 unrolled, with tables of multiples"
licence = "GPL-3.0-or-later"
[source]
debian = "wolfssl"
[build]
sources = ["wolfcrypt/src/wc_port.c", "wolfcrypt/src/random.c", "wolfcrypt/src/hash.c"]
include = ["."]
defines = ["WOLFSSL_USER_SETTINGS", "OPS_WOLFSSL_FAST"]
[build.curve.secp256r1]
sources = [
  "wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c",
  "wolfcrypt/src/sp_c32.c"
]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
*/
/* The calls are the same as in the other configuration; what differs is in wolfssl_config.h. */
#include "wolfssl.c"
