/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-small"
title = "wolfSSL (small)"
about = "wolfSSL's low-memory Ed25519 and X25519 (CURVED25519_SMALL), which wolfSSL derived from c25519"
licence = "GPL-3.0-or-later"
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
[operations]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
[needs]
heap = 256
*/
/* The calls are the same as in the normal configuration; what differs is in wolfssl_config.h. */
#include "wolfssl.c"
