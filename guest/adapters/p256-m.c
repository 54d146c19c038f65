/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "p256-m"
title = "p256-m"
about = "The small P-256 that mbed TLS carries as a driver, called without PSA; one product in Arm assembly"
licence = "Apache-2.0 OR GPL-2.0-or-later"
constant_time = "yes: README, where products are"
[source]
debian = "mbedtls"
[build]
sources = ["3rdparty/p256-m/p256-m/p256-m.c", "library/platform_util.c"]
include = ["3rdparty/p256-m/p256-m", "include", "library"]
defines = ['MBEDTLS_CONFIG_FILE="p256-m_config.h"']
# A product of 32 by 32 bits takes the same time whatever it is of. GCC 14.2 compiles the four products of 16 bits, which
# stand in for it elsewhere, wrongly for AArch64 at -O2: umaddl of the whole words.
[build.core.cortex-a72]
defines = ["MUL64_IS_CONSTANT_TIME"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
[needs]
frame_sha256 = true
*/
/*
 * p256-m checks keys and signatures itself. It multiplies with UMAAL where a core has it (M4, M7, M33), else with four
 * products of 16 bits, on the M3 too, whose long multiplication does not take constant time. On Cortex-A the definition
 * above lets it multiply as C does.
 */
#include "p256-m.h"
#include "ops.h"
#include "psa/crypto.h"

#define DIGEST_BYTES 32

const char ops_name[] = "p256-m";

/* mbed TLS's copy of p256-m draws from this function of PSA. */
psa_status_t psa_generate_random(uint8_t *output, size_t output_size)
{
	ops_random(output, output_size);
	return PSA_SUCCESS;
}

int ops_open(void)
{
	return 0;
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	return p256_gen_keypair(private_key, public_key);
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

	(void)public_key;
	ops_frame_sha256(message, length, digest);
	return p256_ecdsa_sign(signature, private_key, digest, sizeof(digest));
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

	ops_frame_sha256(message, length, digest);
	return p256_ecdsa_verify(signature, public_key, digest, sizeof(digest)) == P256_SUCCESS ? 0 : 1;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	return p256_ecdh_shared_secret(secret, private_key, peer);
}
