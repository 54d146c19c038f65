/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "mbedtls28"
title = "mbed TLS 2.28.3"
about = "Default configuration: generic curves, window 4, comb table of the base point kept; RFC 6979 nonces"
licence = "Apache-2.0"
constant_time = "limited: published attacks only, SECURITY.md"
[source]
debian = "mbedtls-2.28"
[build]
sources = ["library/platform_util.c", "library/constant_time.c"]
include = ["include"]
defines = ['MBEDTLS_USER_CONFIG_FILE="mbedtls28_config.h"']
[build.curve.secp256r1]
sources = [
  "library/bignum.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c", "library/ecdsa.c",
  "library/asn1parse.c", "library/asn1write.c", "library/hmac_drbg.c", "library/md.c", "library/md5.c",
  "library/ripemd160.c", "library/sha1.c", "library/sha256.c", "library/sha512.c"
]
[build.curve.secp384r1]
sources = [
  "library/bignum.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c", "library/ecdsa.c",
  "library/asn1parse.c", "library/asn1write.c", "library/hmac_drbg.c", "library/md.c", "library/md5.c",
  "library/ripemd160.c", "library/sha1.c", "library/sha256.c", "library/sha512.c"
]
[build.curve.secp256k1]
sources = [
  "library/bignum.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c", "library/ecdsa.c",
  "library/asn1parse.c", "library/asn1write.c", "library/hmac_drbg.c", "library/md.c", "library/md5.c",
  "library/ripemd160.c", "library/sha1.c", "library/sha256.c", "library/sha512.c"
]
[build.curve.x25519]
sources = [
  "library/bignum.c", "library/ecp.c", "library/ecp_curves.c", "library/ecdh.c", "library/hmac_drbg.c", "library/md.c",
  "library/md5.c", "library/ripemd160.c", "library/sha1.c", "library/sha256.c", "library/sha512.c"
]
[build.curve.none]
sources = ["library/sha256.c", "library/sha512.c", "library/aes.c"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh", "hardclock"]
secp384r1 = ["keygen", "sign", "verify", "ecdh"]
secp256k1 = ["keygen", "sign", "verify", "ecdh"]
x25519 = ["keygen", "ecdh"]
none = ["sha256", "sha512", "aes128", "aes256"]
[needs]
linux = true
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
 * The version of a published benchmark in the configuration that it is released with. The group is loaded once, as by a
 * program that keeps its context: this version computes the table of the base point's multiples at run time, in the first
 * multiplication, and keeps it in the group. (That is what MBEDTLS_ECP_FIXED_POINT_OPTIM is about; without it, every
 * call computes the table again.) Keys come as bytes with every call.
 *
 * mbedtls_ecdsa_write_signature(), which the library's sample program calls, makes deterministic nonces in this
 * configuration, blinds by the caller's generator, and encodes in DER. The call below is all of that but the encoding.
 * Verifying has no generator to give: the library seeds one of its own (HMAC_DRBG), twice in each verification.
 * Public keys need no check here: the library refuses to multiply a point that is not on the curve.
 *
 * MBEDTLS_HAVE_ASM on Arm: the inline assembly of its multiplication (bn_mul.h) is for optimised builds alone, because
 * GCC without optimisation keeps Thumb's frame pointer in r7, which some of it uses. So at -O0 the option changes nothing
 * on Armv7: not one instruction. On AArch64 it holds at every level.
 *
 * MBEDTLS_ECP_WINDOW_SIZE is a limit. For secp256r1 the library wants 4, and 5 for the base point, one more of each for
 * secp384r1: 6 is what never limits it.
 */
#include "mbedtls_common.h"

const char ops_name[] = "mbedtls28";

#if OPS_CURVE != OPS_CURVE_NONE

static mbedtls_ecp_group group;

int ops_open(void)
{
	mbedtls_ecp_group_init(&group);
	return mbedtls_ecp_group_load(&group, GROUP);
}

static int generate(void *unused, unsigned char *bytes, size_t length)
{
	(void)unused;
	ops_random(bytes, length);
	return 0;
}

#if OPS_CURVE == OPS_CURVE_X25519

#define LOWEST_BITS 0x07
#define HIGHEST_BIT 0x80
#define SECOND_BIT 0x40

/* RFC 7748, section 5: three bits of a scalar are cleared, and one is set. */
static int read_private(mbedtls_mpi *scalar, const uint8_t bytes[OPS_PRIVATE_BYTES])
{
	uint8_t clamped[OPS_PRIVATE_BYTES];

	memcpy(clamped, bytes, sizeof(clamped));
	clamped[0] &= (uint8_t)~LOWEST_BITS;
	clamped[OPS_PRIVATE_BYTES - 1] &= (uint8_t)~HIGHEST_BIT;
	clamped[OPS_PRIVATE_BYTES - 1] |= SECOND_BIT;
	return mbedtls_mpi_read_binary_le(scalar, clamped, sizeof(clamped));
}

static int write_number(const mbedtls_mpi *number, uint8_t bytes[OPS_BYTES])
{
	return mbedtls_mpi_write_binary_le(number, bytes, OPS_BYTES);
}

/* Octet strings of RFC 7748 are what the library reads and writes for this curve. */
static int read_point(mbedtls_ecp_point *point, const uint8_t bytes[OPS_PUBLIC_BYTES])
{
	return mbedtls_ecp_point_read_binary(&group, point, bytes, OPS_PUBLIC_BYTES);
}

static int write_point(const mbedtls_ecp_point *point, uint8_t bytes[OPS_PUBLIC_BYTES])
{
	size_t written;

	return mbedtls_ecp_point_write_binary(&group, point, MBEDTLS_ECP_PF_UNCOMPRESSED, &written, bytes,
					      OPS_PUBLIC_BYTES);
}

#else

static int read_private(mbedtls_mpi *scalar, const uint8_t bytes[OPS_PRIVATE_BYTES])
{
	return mbedtls_mpi_read_binary(scalar, bytes, OPS_PRIVATE_BYTES);
}

static int write_number(const mbedtls_mpi *number, uint8_t bytes[OPS_BYTES])
{
	return mbedtls_mpi_write_binary(number, bytes, OPS_BYTES);
}

/* The library's points have SEC 1's first byte, 4 for an uncompressed one. */
static int read_point(mbedtls_ecp_point *point, const uint8_t bytes[OPS_PUBLIC_BYTES])
{
	uint8_t prefixed[1 + OPS_PUBLIC_BYTES] = { 4 };

	memcpy(prefixed + 1, bytes, OPS_PUBLIC_BYTES);
	return mbedtls_ecp_point_read_binary(&group, point, prefixed, sizeof(prefixed));
}

static int write_point(const mbedtls_ecp_point *point, uint8_t bytes[OPS_PUBLIC_BYTES])
{
	uint8_t prefixed[1 + OPS_PUBLIC_BYTES];
	size_t written;
	int result = mbedtls_ecp_point_write_binary(&group, point, MBEDTLS_ECP_PF_UNCOMPRESSED, &written, prefixed,
						    sizeof(prefixed));

	if (!result)
		memcpy(bytes, prefixed + 1, OPS_PUBLIC_BYTES);
	return result;
}

#endif /* OPS_CURVE_X25519 */

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	mbedtls_ecp_point point;
	mbedtls_mpi scalar;
	int result;

	mbedtls_ecp_point_init(&point);
	mbedtls_mpi_init(&scalar);
	result = mbedtls_ecp_gen_keypair(&group, &scalar, &point, generate, NULL);
	if (!result)
		result = write_number(&scalar, private_key);
	if (!result)
		result = write_point(&point, public_key);
	mbedtls_mpi_free(&scalar);
	mbedtls_ecp_point_free(&point);
	return result;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	mbedtls_mpi scalar, shared;
	mbedtls_ecp_point point;
	int result;

	mbedtls_mpi_init(&scalar);
	mbedtls_mpi_init(&shared);
	mbedtls_ecp_point_init(&point);
	result = read_private(&scalar, private_key);
	if (!result)
		result = read_point(&point, peer);
	if (!result)
		result = mbedtls_ecdh_compute_shared(&group, &shared, &point, &scalar, generate, NULL);
	if (!result)
		result = write_number(&shared, secret);
	mbedtls_ecp_point_free(&point);
	mbedtls_mpi_free(&shared);
	mbedtls_mpi_free(&scalar);
	return result;
}

#endif /* OPS_CURVE_NONE */

#if OPS_CURVE != OPS_CURVE_NONE && OPS_CURVE != OPS_CURVE_X25519

#define DIGEST_BYTES 32

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	mbedtls_mpi scalar, r, s;
	int result;

	(void)public_key;
	mbedtls_mpi_init(&scalar);
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	result = mbedtls_sha256_ret(message, length, digest, 0);
	if (!result)
		result = read_private(&scalar, private_key);
	if (!result)
		result = mbedtls_ecdsa_sign_det_ext(&group, &r, &s, &scalar, digest, sizeof(digest), MBEDTLS_MD_SHA256,
						    generate, NULL);
	if (!result)
		result = write_number(&r, signature);
	if (!result)
		result = write_number(&s, signature + OPS_ORDER_BYTES);
	mbedtls_mpi_free(&s);
	mbedtls_mpi_free(&r);
	mbedtls_mpi_free(&scalar);
	return result;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	mbedtls_ecp_point point;
	mbedtls_mpi r, s;
	int result;

	mbedtls_ecp_point_init(&point);
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	result = mbedtls_sha256_ret(message, length, digest, 0);
	if (!result)
		result = read_point(&point, public_key);
	if (!result)
		result = mbedtls_mpi_read_binary(&r, signature, OPS_ORDER_BYTES);
	if (!result)
		result = mbedtls_mpi_read_binary(&s, signature + OPS_ORDER_BYTES, OPS_ORDER_BYTES);
	if (!result)
		result = mbedtls_ecdsa_verify(&group, digest, sizeof(digest), &point, &r, &s);
	mbedtls_mpi_free(&s);
	mbedtls_mpi_free(&r);
	mbedtls_ecp_point_free(&point);
	return result == MBEDTLS_ERR_ECP_VERIFY_FAILED || result == MBEDTLS_ERR_ECP_INVALID_KEY ? 1 : result;
}

#endif /* curves with ECDSA */

#if OPS_CURVE == OPS_CURVE_NONE

int ops_open(void)
{
	return 0;
}

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	return mbedtls_sha256_ret(message, length, digest, 0);
}

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	return mbedtls_sha512_ret(message, length, digest, 0);
}

#include "mbedtls_aes.h"

#endif /* OPS_CURVE_NONE */
