/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "s2n-bignum-random"
title = "s2n-bignum (AArch64, random nonces)"
about = "the same as s2n-bignum, with random nonces"
licence = "Apache-2.0"
constant_time = "yes: s2n-bignum's README, of its functions; ECDSA around them is ours"
[source]
crate = "aws-lc-sys"
version = "0.47.0"
sha256 = "8bfbe32ac36b3c428696ce315464181bc4029d689fd58e3f2a4e58c252242f52"
[build]
include = ["aws-lc/third_party/s2n-bignum/s2n-bignum-imported/include", "aws-lc/include"]
# The headers that would put a prefix before each name stay empty.
defines = ["BORINGSSL_PREFIX_SYMBOLS_H", "OPS_RANDOM_NONCES"]
[build.curve.secp256r1]
sources = [
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_bigendian_4.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_demont_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_mod_n256_4.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_montinv_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_mont???_p256*.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_nonzero_4.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_optneg_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_sub_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_add_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_tomont_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/p256_mont*.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_eq.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_lt.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_modadd.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_modoptneg.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_optadd.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/word_divstep59.S",
  "aws-lc/generated-src/linux-aarch64/crypto/fipsmodule/p256-armv8-asm.S",
  "aws-lc/generated-src/linux-aarch64/crypto/fipsmodule/sha256-armv8.S",
]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
[needs]
cores = ["cortex-a72"]
*/
/* The calls are the same; a nonce is what the random bytes say, if it is in range. */
#include "s2n-bignum.c"
