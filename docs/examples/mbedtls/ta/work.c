// SPDX-License-Identifier: BSD-2-Clause
// Each operation stands between marks of worldwise, so a program and a TA have regions of the same name.
#include "work.h"

#include <stddef.h>
#include <stdint.h>

#include <mbedtls/aes.h>
#include <mbedtls/bignum.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/rsa.h>
#include <mbedtls/sha256.h>

#include "worldwise.h"

// The same random numbers everywhere: what an entropy source costs is not what is asked here.
static int numbers(void *state, unsigned char *out, size_t size)
{
	uint32_t *last = state;

	for (size_t at = 0; at < size; at++) {
		*last = *last * 1664525 + 1013904223;
		out[at] = (unsigned char)(*last >> 24);
	}
	return 0;
}

static unsigned char message[4096];

static int aes_cbc(void)
{
	static const unsigned char key[16] = { 1, 2, 3 };
	unsigned char iv[16] = { 4, 5, 6 };
	mbedtls_aes_context context;
	int status;

	mbedtls_aes_init(&context);
	WORLDWISE_BEGIN("aes-128-cbc");
	status = mbedtls_aes_setkey_enc(&context, key, 128);
	if (!status)
		status = mbedtls_aes_crypt_cbc(&context, MBEDTLS_AES_ENCRYPT, sizeof(message), iv, message, message);
	WORLDWISE_END("aes-128-cbc");
	mbedtls_aes_free(&context);
	return status;
}

static int sha256(void)
{
	unsigned char hash[32];
	int status;

	WORLDWISE_BEGIN("sha-256");
	status = mbedtls_sha256(message, sizeof(message), hash, 0);
	WORLDWISE_END("sha-256");
	return status;
}

// A key made for this example, which signs nothing else.
static int rsa_key(mbedtls_rsa_context *rsa)
{
	static const char p[] =
		"e7086249401dffb32881e4e2153f965fc133a6d4a82b863df1fe742511cd269b"
		"2a258afcdf87107c8fc6e142ab1a4400c18a63b5d21c93804efe9f49bf390243"
		"0056e4f143b394ed6207ec4042cd97699d39987fcc3ce199ff5ddae383d1e67d"
		"639ddb99fcda62fddf0cc9e24ad6f3a5378c1edc9f110f92622b5e7bf650bd6d";
	static const char q[] =
		"e124e65c09c59a845029c2f493546d3c496d7718bc064ae0ae0c8711e7b52519"
		"037d9023471cc1b5c79db9a04b5913ba3876ae842f3d1e341f54531e3537445e"
		"d29cff89472b52b32b5e5a5aab8c4ea3c3820a2197f7512dbac5ca8399063ef2"
		"1de7df0b1d0bd13badc20f6e195ebbd6e7ec7f5bb3bf6cb3a4e99d77f17fc749";
	mbedtls_mpi first, second, e;
	int status;

	mbedtls_mpi_init(&first);
	mbedtls_mpi_init(&second);
	mbedtls_mpi_init(&e);
	status = mbedtls_mpi_read_string(&first, 16, p);
	if (!status)
		status = mbedtls_mpi_read_string(&second, 16, q);
	if (!status)
		status = mbedtls_mpi_lset(&e, 65537);
	if (!status)
		status = mbedtls_rsa_import(rsa, NULL, &first, &second, NULL, &e);
	if (!status)
		status = mbedtls_rsa_complete(rsa);
	mbedtls_mpi_free(&first);
	mbedtls_mpi_free(&second);
	mbedtls_mpi_free(&e);
	return status;
}

static int rsa_sign(void)
{
	static unsigned char signature[256];
	mbedtls_rsa_context rsa;
	uint32_t state = 1;
	int status;

	mbedtls_rsa_init(&rsa);
	status = rsa_key(&rsa);
	for (int turn = 0; turn < 2 && !status; turn++) {
		WORLDWISE_BEGIN("rsa-2048-sign");
		status = mbedtls_rsa_pkcs1_sign(&rsa, numbers, &state, MBEDTLS_MD_SHA256, 32, message, signature);
		WORLDWISE_END("rsa-2048-sign");
	}
	mbedtls_rsa_free(&rsa);
	return status;
}

static int p256_sign(void)
{
	mbedtls_ecp_group group;
	mbedtls_mpi d, r, s;
	uint32_t state = 2;
	int status;

	mbedtls_ecp_group_init(&group);
	mbedtls_mpi_init(&d);
	mbedtls_mpi_init(&r);
	mbedtls_mpi_init(&s);
	status = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
	if (!status)
		status = mbedtls_ecp_gen_privkey(&group, &d, numbers, &state);
	for (int turn = 0; turn < 2 && !status; turn++) {
		WORLDWISE_BEGIN("p-256-sign");
		status = mbedtls_ecdsa_sign(&group, &r, &s, &d, message, 32, numbers, &state);
		WORLDWISE_END("p-256-sign");
	}
	mbedtls_mpi_free(&d);
	mbedtls_mpi_free(&r);
	mbedtls_mpi_free(&s);
	mbedtls_ecp_group_free(&group);
	return status;
}

int work(unsigned which)
{
	int status;

	switch (which) {
	case WORK_AES_CBC:
		status = aes_cbc();
		return status ? status : aes_cbc();
	case WORK_SHA256:
		status = sha256();
		return status ? status : sha256();
	case WORK_RSA_SIGN:
		return rsa_sign();
	case WORK_P256_SIGN:
		return p256_sign();
	default:
		return -1;
	}
}
