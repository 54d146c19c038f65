/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-sp"
title = "wolfSSL (SP, AArch64)"
about = "wolfSSL's P-256 in AArch64 assembly (SP math): tables of multiples, read whole; random nonces; for Cortex-A alone"
licence = "GPL-3.0-or-later"
constant_time = "resistant: ECC_TIMING_RESISTANT and its tables read whole, its settings"
[source]
debian = "wolfssl"
[build]
sources = ["wolfcrypt/src/wc_port.c", "wolfcrypt/src/random.c", "wolfcrypt/src/hash.c"]
include = ["."]
defines = [
  "WOLFSSL_USER_SETTINGS", "OPS_WOLFSSL_FAST", "OPS_WOLFSSL_SP", "WOLFSSL_SP_ARM64_ASM", "WOLFSSL_SP_ASM",
  "WOLFSSL_SP_NO_MALLOC"
]
[build.curve.secp256r1]
sources = [
  "wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c",
  "wolfcrypt/src/sp_arm64.c"
]
# Words of 64 bits. A TA has no strcasecmp(): wolfSSL's own in both worlds. OP-TEE's headers make `fallthrough` a macro.
[build.core.cortex-a72]
defines = [
  "HAVE___UINT128_T=1", "USE_WOLF_STRCASECMP", "XSTRCASECMP=wc_strcasecmp", "USE_WOLF_STRNCASECMP",
  "XSTRNCASECMP=wc_strncasecmp", "FALL_THROUGH="
]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
[needs]
cores = ["cortex-a72"]
*/
/* The calls are the same as in the other configurations; what differs is in wolfssl_config.h and above. */
#include "wolfssl.c"
