/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mbed TLS called directly, from Linux user space. The calls, and the order of them, are those OP-TEE's core makes for a
 * TA (its lib/libmbedtls/core/ecc.c): the group is loaded for every operation, and nonces and blinding come from a
 * generator that is seeded once.
 */
#include <mbedtls/bignum.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/ecp.h>
#include <mbedtls/sha256.h>

#include "attest.h"
#include "entropy.h"

/* Like is compared with like only if the library has the configuration it has in OP-TEE's core. */
#if !defined(CFG_CRYPTOLIB_NAME_mbedtls) || !defined(MBEDTLS_HAVE_INT64)
#error "mbed TLS is not configured as in OP-TEE's core"
#endif /* configuration of the core */

#define DIGEST_BYTES 32

static mbedtls_ctr_drbg_context drbg;
static mbedtls_mpi d;
static mbedtls_ecp_point q;

static int entropy(void *unused, unsigned char *out, size_t length)
{
	(void)unused;
	return entropy_read(out, length) ? MBEDTLS_ERR_CTR_DRBG_ENTROPY_SOURCE_FAILED : 0;
}

static int open_ops(struct attest_ops *ops)
{
	(void)ops;
	mbedtls_mpi_init(&d);
	mbedtls_ecp_point_init(&q);
	mbedtls_ctr_drbg_init(&drbg);
	return mbedtls_ctr_drbg_seed(&drbg, entropy, NULL, NULL, 0);
}

static void close_ops(void)
{
	mbedtls_ctr_drbg_free(&drbg);
	mbedtls_ecp_point_free(&q);
	mbedtls_mpi_free(&d);
}

static int keygen(struct bench_span *inner)
{
	mbedtls_ecdsa_context key;
	int result;

	(void)inner;
	mbedtls_ecdsa_init(&key);
	result = mbedtls_ecdsa_genkey(&key, MBEDTLS_ECP_DP_SECP256R1, mbedtls_ctr_drbg_random, &drbg);
	if (!result)
		result = mbedtls_mpi_copy(&d, &key.MBEDTLS_PRIVATE(d));
	if (!result)
		result = mbedtls_ecp_copy(&q, &key.MBEDTLS_PRIVATE(Q));
	mbedtls_ecdsa_free(&key);
	return result;
}

static int export_key(uint8_t public_key[2 * P256_BYTES], uint8_t private_key[P256_BYTES])
{
	int result = mbedtls_mpi_write_binary(&q.MBEDTLS_PRIVATE(X), public_key, P256_BYTES);

	if (!result)
		result = mbedtls_mpi_write_binary(&q.MBEDTLS_PRIVATE(Y), public_key + P256_BYTES, P256_BYTES);
	if (!result)
		result = mbedtls_mpi_write_binary(&d, private_key, P256_BYTES);
	return result;
}

static int sign(const uint8_t *message, size_t length, uint8_t signature[2 * P256_BYTES], struct bench_span *inner)
{
	uint8_t digest[DIGEST_BYTES];
	mbedtls_ecp_group group;
	mbedtls_mpi r;
	mbedtls_mpi s;
	int result;

	(void)inner;
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	mbedtls_ecp_group_init(&group);
	result = mbedtls_sha256(message, length, digest, 0);
	if (!result)
		result = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
	if (!result)
		result = mbedtls_ecdsa_sign(&group, &r, &s, &d, digest, sizeof(digest), mbedtls_ctr_drbg_random, &drbg);
	if (!result)
		result = mbedtls_mpi_write_binary(&r, signature, P256_BYTES);
	if (!result)
		result = mbedtls_mpi_write_binary(&s, signature + P256_BYTES, P256_BYTES);
	mbedtls_ecp_group_free(&group);
	mbedtls_mpi_free(&r);
	mbedtls_mpi_free(&s);
	return result;
}

static int verify(const uint8_t *message, size_t length, const uint8_t signature[2 * P256_BYTES],
		  struct bench_span *inner)
{
	uint8_t digest[DIGEST_BYTES];
	mbedtls_ecp_group group;
	mbedtls_mpi r;
	mbedtls_mpi s;
	int result;

	(void)inner;
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	mbedtls_ecp_group_init(&group);
	result = mbedtls_sha256(message, length, digest, 0);
	if (!result)
		result = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
	if (!result)
		result = mbedtls_mpi_read_binary(&r, signature, P256_BYTES);
	if (!result)
		result = mbedtls_mpi_read_binary(&s, signature + P256_BYTES, P256_BYTES);
	if (!result)
		result = mbedtls_ecdsa_verify(&group, digest, sizeof(digest), &q, &r, &s);
	mbedtls_ecp_group_free(&group);
	mbedtls_mpi_free(&r);
	mbedtls_mpi_free(&s);
	return result == MBEDTLS_ERR_ECP_VERIFY_FAILED ? 1 : result;
}

static int hash_pieces(const uint8_t *message, size_t length, size_t chunk, uint8_t digest[DIGEST_BYTES])
{
	mbedtls_sha256_context context;
	int result;

	mbedtls_sha256_init(&context);
	result = mbedtls_sha256_starts(&context, 0);
	for (size_t done = 0; !result && done < length; done += chunk)
		result = mbedtls_sha256_update(&context, message + done, length - done < chunk ? length - done : chunk);
	if (!result)
		result = mbedtls_sha256_finish(&context, digest);
	mbedtls_sha256_free(&context);
	return result;
}

struct attest_ops linux_ops = {
	.name = "mbedtls",
	.open = open_ops,
	.keygen = keygen,
	.export_key = export_key,
	.sign = sign,
	.verify = verify,
	.hash = hash_pieces,
	.close = close_ops,
};
