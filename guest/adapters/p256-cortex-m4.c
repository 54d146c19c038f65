/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "p256-cortex-m4"
title = "P256-Cortex-M4"
about = "P-256 in M4 assembly (UMAAL; FPU registers if it has some), its defaults less point formats"
licence = "MIT"
constant_time = "yes: README"
[source]
crate = "p256-cortex-m4-sys"
version = "0.1.0"
sha256 = "54a73da4b90c4bb139ff5cca5526f796451cfeea58f5915bc739df36803977de"
[build]
sources = ["P256-Cortex-M4/p256-cortex-m4.c", "P256-Cortex-M4/p256-cortex-m4-asm-gcc.S"]
include = ["P256-Cortex-M4"]
defines = [ # what nothing here calls; its assembly is one section, from which a linker drops nothing
  "include_p256_raw_scalarmult_generic=0", "include_p256_raw_scalarmult_base=0",
  "include_p256_to_octet_string_uncompressed=0", "include_p256_to_octet_string_compressed=0",
  "include_p256_to_octet_string_hybrid=0", "include_p256_decompress_point=0", "include_p256_decode_point=0",
]
[build.core.cortex-m7]
defines = ["has_d_cache=1"] # the M7 has a data cache: the library asks for table look-ups that read every entry
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
[needs]
cores = ["cortex-m4", "cortex-m7", "cortex-m33"]
frame_sha256 = true
*/
/*
 * The library's numbers are arrays of words, least significant first: converting from and to SEC 1's octets, by the
 * library's own function, is part of every operation. It checks public keys and signatures itself.
 */
#include "p256-cortex-m4.h"
#include "ops.h"

#define DIGEST_BYTES 32
#define NUMBER_BYTES 32
#define NUMBER_WORDS 8

const char ops_name[] = "p256-cortex-m4";

int ops_open(void)
{
	return 0;
}

/* Draws until the number is a scalar, as its README has it. */
int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	uint32_t d[NUMBER_WORDS], x[NUMBER_WORDS], y[NUMBER_WORDS];

	do
		ops_random((uint8_t *)d, sizeof(d));
	while (!p256_keygen(x, y, d));
	p256_convert_endianness(private_key, d, NUMBER_BYTES);
	p256_convert_endianness(public_key, x, NUMBER_BYTES);
	p256_convert_endianness(public_key + NUMBER_BYTES, y, NUMBER_BYTES);
	return 0;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	uint32_t d[NUMBER_WORDS], k[NUMBER_WORDS], r[NUMBER_WORDS], s[NUMBER_WORDS];

	(void)public_key;
	ops_frame_sha256(message, length, digest);
	p256_convert_endianness(d, private_key, NUMBER_BYTES);
	do
		ops_random((uint8_t *)k, sizeof(k));
	while (!p256_sign(r, s, digest, sizeof(digest), d, k));
	p256_convert_endianness(signature, r, NUMBER_BYTES);
	p256_convert_endianness(signature + NUMBER_BYTES, s, NUMBER_BYTES);
	return 0;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	uint32_t x[NUMBER_WORDS], y[NUMBER_WORDS], r[NUMBER_WORDS], s[NUMBER_WORDS];

	ops_frame_sha256(message, length, digest);
	p256_convert_endianness(x, public_key, NUMBER_BYTES);
	p256_convert_endianness(y, public_key + NUMBER_BYTES, NUMBER_BYTES);
	p256_convert_endianness(r, signature, NUMBER_BYTES);
	p256_convert_endianness(s, signature + NUMBER_BYTES, NUMBER_BYTES);
	return p256_verify(x, y, digest, sizeof(digest), r, s) ? 0 : 1;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	uint32_t d[NUMBER_WORDS], x[NUMBER_WORDS], y[NUMBER_WORDS];

	p256_convert_endianness(d, private_key, NUMBER_BYTES);
	p256_convert_endianness(x, peer, NUMBER_BYTES);
	p256_convert_endianness(y, peer + NUMBER_BYTES, NUMBER_BYTES);
	return p256_ecdh_calc_shared_secret(secret, d, x, y) ? 0 : -1;
}
