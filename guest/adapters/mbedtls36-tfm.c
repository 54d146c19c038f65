/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "mbedtls36-tfm"
title = "mbed TLS 3.6 as TF-M configures it"
about = "The PSA interface in config-tfm.h, TF-M's medium profile: P-256 by p256-m, small SHA-256 and AES, CTR_DRBG"
licence = "Apache-2.0 OR GPL-2.0-or-later"
constant_time = "limited: published attacks only, SECURITY.md"
[source]
debian = "mbedtls"
[build]
sources = [
  "library/aes.c", "library/block_cipher.c", "library/ccm.c", "library/constant_time.c", "library/ctr_drbg.c",
  "library/entropy.c", "library/entropy_poll.c", "library/hkdf.c", "library/md.c", "library/platform.c",
  "library/platform_util.c", "library/psa_*.c", "library/sha256.c",
  "3rdparty/p256-m/p256-m_driver_entrypoints.c", "3rdparty/p256-m/p256-m/p256-m.c"
]
include = [
  "include", "library", "3rdparty/p256-m", "3rdparty/p256-m/p256-m", "3rdparty/p256-m/p256-m/include"
]
defines = ['MBEDTLS_CONFIG_FILE="../configs/config-tfm.h"', "MBEDTLS_ENTROPY_HARDWARE_ALT"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
none = ["sha256"]
[needs]
features = ["trustzone"]
heap = 16384
*/
/*
 * TF-M's crypto without its partition manager: TF-M has this configuration, and is not here itself. A key comes as bytes, so
 * every call imports it into a slot and destroys it again; a caller that keeps its keys in slots saves that. Random bytes come
 * from CTR_DRBG, which ops_open() seeds with the frame's.
 */
#include <psa/crypto.h>
#include <stddef.h>

#include "ops.h"

#define POINT_BYTES (1 + OPS_PUBLIC_BYTES)
#define ALGORITHM PSA_ALG_ECDSA(PSA_ALG_SHA_256)

const char ops_name[] = "mbedtls36-tfm";

/* What the configuration asks of the platform: see library/entropy_poll.h. */
int mbedtls_hardware_poll(void *unused, unsigned char *bytes, size_t length, size_t *written);

int mbedtls_hardware_poll(void *unused, unsigned char *bytes, size_t length, size_t *written)
{
	(void)unused;
	ops_random(bytes, length);
	*written = length;
	return 0;
}

int ops_open(void)
{
	return psa_crypto_init();
}

#if OPS_CURVE == OPS_CURVE_SECP256R1

static psa_key_attributes_t attributes_of(psa_key_type_t type, psa_key_usage_t usage, psa_algorithm_t algorithm)
{
	psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;

	psa_set_key_type(&attributes, type);
	psa_set_key_bits(&attributes, 8 * OPS_BYTES);
	psa_set_key_usage_flags(&attributes, usage);
	psa_set_key_algorithm(&attributes, algorithm);
	return attributes;
}

static psa_status_t import_private(const uint8_t private_key[OPS_PRIVATE_BYTES], psa_key_usage_t usage,
				   psa_algorithm_t algorithm, psa_key_id_t *key)
{
	psa_key_attributes_t attributes = attributes_of(PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_SECP_R1), usage,
							algorithm);

	return psa_import_key(&attributes, private_key, OPS_PRIVATE_BYTES, key);
}

/* PSA's points have SEC 1's first byte, 4 for an uncompressed one. */
static void to_point(const uint8_t public_key[OPS_PUBLIC_BYTES], uint8_t point[POINT_BYTES])
{
	point[0] = 4;
	for (size_t i = 0; i < OPS_PUBLIC_BYTES; i++)
		point[1 + i] = public_key[i];
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	psa_key_attributes_t attributes = attributes_of(PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_SECP_R1),
							PSA_KEY_USAGE_EXPORT, ALGORITHM);
	uint8_t point[POINT_BYTES];
	psa_key_id_t key;
	size_t written;
	psa_status_t status = psa_generate_key(&attributes, &key);

	if (status)
		return status;
	status = psa_export_key(key, private_key, OPS_PRIVATE_BYTES, &written);
	if (!status)
		status = psa_export_public_key(key, point, sizeof(point), &written);
	for (size_t i = 0; i < OPS_PUBLIC_BYTES && !status; i++)
		public_key[i] = point[1 + i];
	(void)psa_destroy_key(key);
	return status;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	psa_key_id_t key;
	size_t written;
	psa_status_t status = import_private(private_key, PSA_KEY_USAGE_SIGN_MESSAGE, ALGORITHM, &key);

	(void)public_key;
	if (status)
		return status;
	status = psa_sign_message(key, ALGORITHM, message, length, signature, OPS_SIGNATURE_BYTES, &written);
	(void)psa_destroy_key(key);
	return status;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	psa_key_attributes_t attributes = attributes_of(PSA_KEY_TYPE_ECC_PUBLIC_KEY(PSA_ECC_FAMILY_SECP_R1),
							PSA_KEY_USAGE_VERIFY_MESSAGE, ALGORITHM);
	uint8_t point[POINT_BYTES];
	psa_key_id_t key;
	psa_status_t status;

	to_point(public_key, point);
	if (psa_import_key(&attributes, point, sizeof(point), &key))
		return 1;
	status = psa_verify_message(key, ALGORITHM, message, length, signature, OPS_SIGNATURE_BYTES);
	(void)psa_destroy_key(key);
	return status ? 1 : 0;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	uint8_t point[POINT_BYTES];
	psa_key_id_t key;
	size_t written;
	psa_status_t status = import_private(private_key, PSA_KEY_USAGE_DERIVE, PSA_ALG_ECDH, &key);

	if (status)
		return status;
	to_point(peer, point);
	status = psa_raw_key_agreement(PSA_ALG_ECDH, key, point, sizeof(point), secret, OPS_SECRET_BYTES, &written);
	(void)psa_destroy_key(key);
	return status;
}

#else

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	size_t written;

	return psa_hash_compute(PSA_ALG_SHA_256, message, length, digest, 32, &written);
}

#endif /* OPS_CURVE */
