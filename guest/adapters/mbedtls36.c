/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "mbedtls36"
title = "mbed TLS 3.6"
about = "Generic curves in default settings: window 4, comb tables in flash, NIST_OPTIM, assembly; RFC 6979 nonces"
licence = "Apache-2.0 OR GPL-2.0-or-later"
constant_time = "limited: published attacks only, SECURITY.md"
[source]
debian = "mbedtls"
[build]
sources = ["library/platform_util.c", "library/constant_time.c"]
include = ["include"]
defines = ['MBEDTLS_CONFIG_FILE="mbedtls36_config.h"']
[build.curve.secp192r1]
sources = [
  "library/bignum.c", "library/bignum_core.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c",
  "library/ecdsa.c", "library/hmac_drbg.c", "library/md.c", "library/sha256.c"
]
[build.curve.secp224r1]
sources = [
  "library/bignum.c", "library/bignum_core.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c",
  "library/ecdsa.c", "library/hmac_drbg.c", "library/md.c", "library/sha256.c"
]
[build.curve.secp256r1]
sources = [
  "library/bignum.c", "library/bignum_core.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c",
  "library/ecdsa.c", "library/hmac_drbg.c", "library/md.c", "library/sha256.c"
]
[build.curve.secp384r1]
sources = [
  "library/bignum.c", "library/bignum_core.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c",
  "library/ecdsa.c", "library/hmac_drbg.c", "library/md.c", "library/sha256.c"
]
[build.curve.secp256k1]
sources = [
  "library/bignum.c", "library/bignum_core.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c",
  "library/ecdsa.c", "library/hmac_drbg.c", "library/md.c", "library/sha256.c"
]
[build.curve.x25519]
sources = [
  "library/bignum.c", "library/bignum_core.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c"
]
[build.curve.none]
sources = ["library/sha256.c", "library/sha512.c", "library/aes.c"]
# ecdsa.c calls these for signatures in DER, which nothing here asks for: a linker that keeps whole files wants them.
[build.core.cortex-a72]
sources = ["library/asn1parse.c", "library/asn1write.c"]
# The default from -O1 on. At -O0 its assembly leaves no register for Thumb's frame pointer, and is not compiled.
[build.core.cortex-a9]
flags = ["-fomit-frame-pointer"]
[operations]
secp192r1 = ["keygen", "sign", "verify", "ecdh"]
secp224r1 = ["keygen", "sign", "verify", "ecdh"]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
secp384r1 = ["keygen", "sign", "verify", "ecdh"]
secp256k1 = ["keygen", "sign", "verify", "ecdh"]
x25519 = ["keygen", "ecdh"]
none = ["sha256", "sha512", "aes128", "aes256"]
[options.nist]
default = "on"
values = { on = [], off = ["OPS_MBEDTLS_NIST_OFF"] }
[options.window]
default = "4"
values = { 2 = ["MBEDTLS_ECP_WINDOW_SIZE=2"], 4 = [], 6 = ["MBEDTLS_ECP_WINDOW_SIZE=6"] }
[options.fixed-point]
default = "on"
values = { on = [], off = ["MBEDTLS_ECP_FIXED_POINT_OPTIM=0"] }
[options.asm]
default = "on"
values = { on = [], off = ["OPS_MBEDTLS_ASM_OFF"] }
*/
/*
 * As a program does that gets keys as bytes, every call loads the group (which takes no computation, its tables are
 * constants) and the key. Signatures are deterministic because mbed TLS's default configuration makes them so; the
 * generator then serves for blinding only. Verifying and ECDH need no check of a public key here: the library refuses
 * to multiply a point that is not on the curve.
 *
 * MBEDTLS_HAVE_ASM off leaves out the assembly of the multiplication (bn_mul.h), which here holds at -O0 too (see above),
 * and that of constant_time.c. MBEDTLS_ECP_WINDOW_SIZE limits what is multiplied by other points than the base point, whose
 * table is a constant; without MBEDTLS_ECP_FIXED_POINT_OPTIM there is no such table, and every call computes one.
 */
#include "mbedtls_common.h"

const char ops_name[] = "mbedtls36";

int ops_open(void)
{
	return 0;
}

#if OPS_CURVE != OPS_CURVE_NONE

static int generate(void *unused, unsigned char *bytes, size_t length)
{
	(void)unused;
	ops_random(bytes, length);
	return 0;
}

#if OPS_CURVE == OPS_CURVE_X25519
/* Octet strings of RFC 7748 are what the library reads and writes for this curve. */
static int read_point(const mbedtls_ecp_group *group, mbedtls_ecp_point *point, const uint8_t bytes[OPS_PUBLIC_BYTES])
{
	return mbedtls_ecp_point_read_binary(group, point, bytes, OPS_PUBLIC_BYTES);
}

static int write_point(const mbedtls_ecp_group *group, const mbedtls_ecp_point *point, uint8_t bytes[OPS_PUBLIC_BYTES])
{
	size_t written;

	return mbedtls_ecp_point_write_binary(group, point, MBEDTLS_ECP_PF_UNCOMPRESSED, &written, bytes,
					      OPS_PUBLIC_BYTES);
}
#else
/* The library's points have SEC 1's first byte, 4 for an uncompressed one. */
static int read_point(const mbedtls_ecp_group *group, mbedtls_ecp_point *point, const uint8_t bytes[OPS_PUBLIC_BYTES])
{
	uint8_t prefixed[1 + OPS_PUBLIC_BYTES] = { 4 };

	memcpy(prefixed + 1, bytes, OPS_PUBLIC_BYTES);
	return mbedtls_ecp_point_read_binary(group, point, prefixed, sizeof(prefixed));
}

static int write_point(const mbedtls_ecp_group *group, const mbedtls_ecp_point *point, uint8_t bytes[OPS_PUBLIC_BYTES])
{
	uint8_t prefixed[1 + OPS_PUBLIC_BYTES];
	size_t written;
	int result = mbedtls_ecp_point_write_binary(group, point, MBEDTLS_ECP_PF_UNCOMPRESSED, &written, prefixed,
						    sizeof(prefixed));

	if (!result)
		memcpy(bytes, prefixed + 1, OPS_PUBLIC_BYTES);
	return result;
}
#endif /* OPS_CURVE_X25519 */

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	mbedtls_ecp_keypair key;
	size_t written;
	int result;

	mbedtls_ecp_keypair_init(&key);
	result = mbedtls_ecp_gen_key(GROUP, &key, generate, NULL);
	if (!result)
		result = mbedtls_ecp_write_key_ext(&key, &written, private_key, OPS_PRIVATE_BYTES);
	if (!result)
		result = write_point(&key.MBEDTLS_PRIVATE(grp), &key.MBEDTLS_PRIVATE(Q), public_key);
	mbedtls_ecp_keypair_free(&key);
	return result;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	mbedtls_ecp_keypair key;
	mbedtls_ecp_point point;
	mbedtls_mpi shared;
	int result;

	mbedtls_ecp_keypair_init(&key);
	mbedtls_ecp_point_init(&point);
	mbedtls_mpi_init(&shared);
	result = mbedtls_ecp_read_key(GROUP, &key, private_key, OPS_PRIVATE_BYTES);
	if (!result)
		result = read_point(&key.MBEDTLS_PRIVATE(grp), &point, peer);
	if (!result)
		result = mbedtls_ecdh_compute_shared(&key.MBEDTLS_PRIVATE(grp), &shared, &point,
						     &key.MBEDTLS_PRIVATE(d), generate, NULL);
#if OPS_CURVE == OPS_CURVE_X25519
	if (!result)
		result = mbedtls_mpi_write_binary_le(&shared, secret, OPS_SECRET_BYTES);
#else
	if (!result)
		result = mbedtls_mpi_write_binary(&shared, secret, OPS_SECRET_BYTES);
#endif /* OPS_CURVE_X25519 */
	mbedtls_mpi_free(&shared);
	mbedtls_ecp_point_free(&point);
	mbedtls_ecp_keypair_free(&key);
	return result;
}

#endif /* OPS_CURVE_NONE */

#if OPS_CURVE != OPS_CURVE_NONE && OPS_CURVE != OPS_CURVE_X25519

#define DIGEST_BYTES 32

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	mbedtls_ecp_keypair key;
	mbedtls_mpi r, s;
	int result;

	(void)public_key;
	mbedtls_ecp_keypair_init(&key);
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	result = mbedtls_sha256(message, length, digest, 0);
	if (!result)
		result = mbedtls_ecp_read_key(GROUP, &key, private_key, OPS_PRIVATE_BYTES);
	if (!result)
		result = mbedtls_ecdsa_sign_det_ext(&key.MBEDTLS_PRIVATE(grp), &r, &s, &key.MBEDTLS_PRIVATE(d), digest,
						    sizeof(digest), MBEDTLS_MD_SHA256, generate, NULL);
	if (!result)
		result = mbedtls_mpi_write_binary(&r, signature, OPS_ORDER_BYTES);
	if (!result)
		result = mbedtls_mpi_write_binary(&s, signature + OPS_ORDER_BYTES, OPS_ORDER_BYTES);
	mbedtls_mpi_free(&s);
	mbedtls_mpi_free(&r);
	mbedtls_ecp_keypair_free(&key);
	return result;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	mbedtls_ecp_group group;
	mbedtls_ecp_point point;
	mbedtls_mpi r, s;
	int result;

	mbedtls_ecp_group_init(&group);
	mbedtls_ecp_point_init(&point);
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	result = mbedtls_sha256(message, length, digest, 0);
	if (!result)
		result = mbedtls_ecp_group_load(&group, GROUP);
	if (!result)
		result = read_point(&group, &point, public_key);
	if (!result)
		result = mbedtls_mpi_read_binary(&r, signature, OPS_ORDER_BYTES);
	if (!result)
		result = mbedtls_mpi_read_binary(&s, signature + OPS_ORDER_BYTES, OPS_ORDER_BYTES);
	if (!result)
		result = mbedtls_ecdsa_verify(&group, digest, sizeof(digest), &point, &r, &s);
	mbedtls_mpi_free(&s);
	mbedtls_mpi_free(&r);
	mbedtls_ecp_point_free(&point);
	mbedtls_ecp_group_free(&group);
	return result == MBEDTLS_ERR_ECP_VERIFY_FAILED || result == MBEDTLS_ERR_ECP_INVALID_KEY ? 1 : result;
}

#endif /* curves with ECDSA */

#if OPS_CURVE == OPS_CURVE_NONE

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	return mbedtls_sha256(message, length, digest, 0);
}

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	return mbedtls_sha512(message, length, digest, 0);
}

#include "mbedtls_aes.h"

#endif /* OPS_CURVE_NONE */
