/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-fast"
title = "wolfSSL (fast P-256)"
about = "as wolfssl, without WOLFSSL_SP_SMALL: P-256 unrolled, with tables of multiples"
licence = "GPL-3.0-or-later"
constant_time = "resistant: ECC_TIMING_RESISTANT, its settings"
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
# Words of 64 bits. A TA has no strcasecmp(): wolfSSL's own in both worlds. OP-TEE's headers make `fallthrough` a macro.
[build.core.cortex-a72]
sources = ["wolfcrypt/src/sp_c64.c"]
defines = [
  "HAVE___UINT128_T=1", "USE_WOLF_STRCASECMP", "XSTRCASECMP=wc_strcasecmp", "USE_WOLF_STRNCASECMP",
  "XSTRNCASECMP=wc_strncasecmp", "FALL_THROUGH="
]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
*/
/* The calls are the same as in the other configuration; what differs is in wolfssl_config.h. */
#include "wolfssl.c"
