/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-pqc-asm"
title = "wolfSSL (assembly)"
about = "wolfSSL 5.9.4 with its assembly of ML-KEM, SHA-2, SHA-3 and X25519: Thumb-2, A32 or A64"
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
defines = ["WOLFSSL_USER_SETTINGS", "OPS_WOLFSSL_ASM"]
[build.curve.x25519-ml-kem-768]
sources = ["wolfssl-src/wolfcrypt/src/curve25519.c", "wolfssl-src/wolfcrypt/src/fe_operations.c"]
[build.curve.slh-dsa-sha2-128f]
sources = [
  "wolfssl-src/wolfcrypt/src/wc_slhdsa.c", "wolfssl-src/wolfcrypt/src/hmac.c",
  "wolfssl-src/wolfcrypt/src/sha256.c", "wolfssl-src/wolfcrypt/src/sha512.c"
]
[build.curve.slh-dsa-shake-128f]
sources = ["wolfssl-src/wolfcrypt/src/wc_slhdsa.c"]
[build.has.mainline]
sources = [
  "wolfssl-src/wolfcrypt/src/port/arm/thumb2-mlkem-asm.S", "wolfssl-src/wolfcrypt/src/port/arm/thumb2-sha3-asm.S",
  "wolfssl-src/wolfcrypt/src/port/arm/thumb2-curve25519.S", "wolfssl-src/wolfcrypt/src/port/arm/thumb2-sha256-asm.S",
  "wolfssl-src/wolfcrypt/src/port/arm/thumb2-sha512-asm.S"
]
defines = ["OPS_WOLFSSL_THUMB2"]
[build.core.cortex-a9]
sources = [
  "wolfssl-src/wolfcrypt/src/port/arm/armv8-32-mlkem-asm.S", "wolfssl-src/wolfcrypt/src/port/arm/armv8-32-sha3-asm.S",
  "wolfssl-src/wolfcrypt/src/port/arm/armv8-32-curve25519.S", "wolfssl-src/wolfcrypt/src/port/arm/armv8-32-sha256-asm.S",
  "wolfssl-src/wolfcrypt/src/port/arm/armv8-32-sha512-asm.S"
]
defines = ["OPS_WOLFSSL_A32"]
flags = ["-march=armv7-a+simd"]
[build.core.cortex-a72]
sources = [
  "wolfssl-src/wolfcrypt/src/port/arm/armv8-mlkem-asm.S", "wolfssl-src/wolfcrypt/src/port/arm/armv8-sha3-asm.S",
  "wolfssl-src/wolfcrypt/src/port/arm/armv8-curve25519.S", "wolfssl-src/wolfcrypt/src/cpuid.c",
  "wolfssl-src/wolfcrypt/src/port/arm/armv8-sha256-asm.S", "wolfssl-src/wolfcrypt/src/port/arm/armv8-sha512-asm.S"
]
defines = ["OPS_WOLFSSL_A64"]
[operations]
ml-kem-512 = ["keygen", "encaps", "decaps"]
ml-kem-768 = ["keygen", "encaps", "decaps"]
ml-kem-1024 = ["keygen", "encaps", "decaps"]
ml-dsa-44 = ["keygen", "sign", "verify"]
ml-dsa-65 = ["keygen", "sign", "verify"]
ml-dsa-87 = ["keygen", "sign", "verify"]
slh-dsa-sha2-128f = ["keygen", "sign", "verify"]
slh-dsa-shake-128f = ["keygen", "sign", "verify"]
x25519-ml-kem-768 = ["keygen", "encaps", "decaps"]
[needs]
cores = ["cortex-a9", "cortex-a72"]
features = ["mainline"]
# Of one call, rounded up to 256 bytes.
[memory]
ml-kem-512.keygen = { stack = 3776, heap = 3600 }
ml-kem-512.encaps = { stack = 3840, heap = 7184 }
ml-kem-512.decaps = { stack = 3904, heap = 7960 }
ml-kem-768.keygen = { stack = 4608, heap = 6672 }
ml-kem-768.encaps = { stack = 4672, heap = 11280 }
ml-kem-768.decaps = { stack = 4736, heap = 12376 }
ml-kem-1024.keygen = { stack = 5632, heap = 10768 }
ml-kem-1024.encaps = { stack = 5696, heap = 16400 }
ml-kem-1024.decaps = { stack = 5696, heap = 17976 }
ml-dsa-44.keygen = { stack = 4928, heap = 29528 }
ml-dsa-44.sign = { stack = 5120, heap = 51104 }
ml-dsa-44.verify = { stack = 5056, heap = 30552 }
ml-dsa-65.keygen = { stack = 7040, heap = 48984 }
ml-dsa-65.sign = { stack = 7232, heap = 78752 }
ml-dsa-65.verify = { stack = 7168, heap = 50008 }
ml-dsa-87.keygen = { stack = 8512, heap = 81752 }
ml-dsa-87.sign = { stack = 8704, heap = 122016 }
ml-dsa-87.verify = { stack = 8640, heap = 82776 }
slh-dsa-sha2-128f.keygen = { stack = 2624, heap = 0 }
slh-dsa-sha2-128f.sign = { stack = 3264, heap = 0 }
slh-dsa-sha2-128f.verify = { stack = 2752, heap = 0 }
slh-dsa-shake-128f.keygen = { stack = 2304, heap = 0 }
slh-dsa-shake-128f.sign = { stack = 2944, heap = 0 }
slh-dsa-shake-128f.verify = { stack = 2432, heap = 0 }
x25519-ml-kem-768.keygen = { stack = 4608, heap = 6672 }
x25519-ml-kem-768.encaps = { stack = 4736, heap = 11280 }
x25519-ml-kem-768.decaps = { stack = 4736, heap = 12376 }
*/
/* The calls are the same; what differs is in user_settings.h and above. */
#include "wolfssl-pqc.c"
