/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-pqc-small"
title = "wolfSSL (small)"
about = "wolfSSL 5.9.4 in C, for little memory: polynomials are made one at a time, and some again"
licence = "GPL-2.0-or-later"
constant_time = "none: no claim known"
[source]
crate = "wolfssl-sys"
version = "5.3.0"
sha256 = "e04fb531435ec8ba1852ee9df66ab351cdb1e3aec1da4013787ae93efa3adac6"
[build]
sources = [
  "wolfssl-src/wolfcrypt/src/sha3.c", "wolfssl-src/wolfcrypt/src/wc_mlkem.c",
  "wolfssl-src/wolfcrypt/src/wc_mlkem_poly.c", "wolfssl-src/wolfcrypt/src/wc_mldsa.c"
]
include = ["wolfssl-src"]
defines = ["WOLFSSL_USER_SETTINGS", "OPS_WOLFSSL_SMALL"]
[build.curve.x25519-ml-kem-768]
sources = ["wolfssl-src/wolfcrypt/src/curve25519.c", "wolfssl-src/wolfcrypt/src/fe_operations.c"]
[operations]
ml-kem-512 = ["keygen", "encaps", "decaps"]
ml-kem-768 = ["keygen", "encaps", "decaps"]
ml-kem-1024 = ["keygen", "encaps", "decaps"]
ml-dsa-44 = ["keygen", "sign", "verify"]
ml-dsa-65 = ["keygen", "sign", "verify"]
ml-dsa-87 = ["keygen", "sign", "verify"]
x25519-ml-kem-768 = ["keygen", "encaps", "decaps"]
# Of one call, rounded up to 256 bytes.
[memory]
ml-kem-512.keygen = { stack = 3968, heap = 1552 }
ml-kem-512.encaps = { stack = 3968, heap = 3600 }
ml-kem-512.decaps = { stack = 3968, heap = 4376 }
ml-kem-768.keygen = { stack = 4864, heap = 2064 }
ml-kem-768.encaps = { stack = 4928, heap = 5136 }
ml-kem-768.decaps = { stack = 4928, heap = 6232 }
ml-kem-1024.keygen = { stack = 5760, heap = 2576 }
ml-kem-1024.encaps = { stack = 5952, heap = 6672 }
ml-kem-1024.decaps = { stack = 5952, heap = 8248 }
ml-dsa-44.keygen = { stack = 4928, heap = 14440 }
ml-dsa-44.sign = { stack = 5184, heap = 16984 }
ml-dsa-44.verify = { stack = 5120, heap = 8784 }
ml-dsa-65.keygen = { stack = 7040, heap = 19560 }
ml-dsa-65.sign = { stack = 7296, heap = 22104 }
ml-dsa-65.verify = { stack = 7232, heap = 9808 }
ml-dsa-87.keygen = { stack = 8576, heap = 25704 }
ml-dsa-87.sign = { stack = 8768, heap = 28504 }
ml-dsa-87.verify = { stack = 8704, heap = 12112 }
x25519-ml-kem-768.keygen = { stack = 4992, heap = 2064 }
x25519-ml-kem-768.encaps = { stack = 5248, heap = 5136 }
x25519-ml-kem-768.decaps = { stack = 5248, heap = 6232 }
*/
/* The calls are the same; what differs is in user_settings.h and above. */
#include "wolfssl-pqc.c"
