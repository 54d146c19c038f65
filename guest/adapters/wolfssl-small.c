/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-small"
title = "wolfSSL (small)"
about = "wolfSSL's low-memory Ed25519 and X25519 (CURVED25519_SMALL), which wolfSSL derived from c25519"
licence = "GPL-3.0-or-later"
constant_time = "resistant: its settings"
[source]
debian = "wolfssl"
[build]
sources = ["wolfcrypt/src/wc_port.c", "wolfcrypt/src/random.c", "wolfcrypt/src/hash.c", "wolfcrypt/src/fe_low_mem.c"]
include = ["."]
defines = ["WOLFSSL_USER_SETTINGS", "OPS_WOLFSSL_SMALL"]
[build.curve.ed25519]
sources = ["wolfcrypt/src/ed25519.c", "wolfcrypt/src/ge_low_mem.c", "wolfcrypt/src/sha512.c"]
[build.curve.x25519]
sources = ["wolfcrypt/src/curve25519.c"]
# Words of 64 bits. A TA has no strcasecmp(): wolfSSL's own in both worlds. OP-TEE's headers make `fallthrough` a macro.
[build.core.cortex-a72]
defines = [
  "HAVE___UINT128_T=1", "USE_WOLF_STRCASECMP", "XSTRCASECMP=wc_strcasecmp", "USE_WOLF_STRNCASECMP",
  "XSTRNCASECMP=wc_strncasecmp", "FALL_THROUGH="
]
[operations]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
[needs]
heap = 256
*/
/* The calls are the same as in the normal configuration; what differs is in wolfssl_config.h. */
#include "wolfssl.c"
