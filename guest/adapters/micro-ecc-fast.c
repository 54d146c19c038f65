/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "micro-ecc-fast"
title = "micro-ecc (level 3)"
about = "micro-ecc with products unrolled for the size of the curve (uECC_OPTIMIZATION_LEVEL 3), for Thumb-2"
licence = "BSD-2-Clause"
constant_time = "resistant: known side channels, README"
[source]
crate = "micro-ecc-sys"
version = "0.3.2"
sha256 = "1b861c7e7eba25ec3fe0fde221a46bf38bd1ad200a5404b6f7e45c99b74a00fa"
[build]
sources = ["micro-ecc/uECC.c"]
include = ["micro-ecc"]
defines = [
  "uECC_SUPPORT_COMPRESSED_POINT=0", "uECC_OPTIMIZATION_LEVEL=3", "OPS_MICRO_ECC_FAST",
  "uECC_SUPPORTS_secp160r1=(OPS_CURVE==1)", "uECC_SUPPORTS_secp192r1=(OPS_CURVE==2)",
  "uECC_SUPPORTS_secp224r1=(OPS_CURVE==3)", "uECC_SUPPORTS_secp256r1=(OPS_CURVE==4)",
  "uECC_SUPPORTS_secp256k1=(OPS_CURVE==6)",
]
flags = ["-fomit-frame-pointer"]
[operations]
secp160r1 = ["keygen", "sign", "verify", "ecdh"]
secp192r1 = ["keygen", "sign", "verify", "ecdh"]
secp224r1 = ["keygen", "sign", "verify", "ecdh"]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
secp256k1 = ["keygen", "sign", "verify", "ecdh"]
[needs]
features = ["mainline"]
frame_sha256 = true
*/
/* The calls are the same as in the default configuration. */
#include "micro-ecc.c"
