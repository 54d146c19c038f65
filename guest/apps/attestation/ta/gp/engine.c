/* SPDX-License-Identifier: BSD-2-Clause */
/* OP-TEE's core does the work, by the GlobalPlatform API. */
#include "engine.h"

#include <tee_internal_api_extensions.h>

#define P256_BITS (8 * ATTEST_SCALAR)
#define SHA256_BYTES 32

struct engine {
	TEE_ObjectHandle key;
	TEE_ObjectHandle public_key;
	TEE_OperationHandle digest;
	TEE_OperationHandle sign;
	TEE_OperationHandle verify;
	bool ready; /* the operations have the current key */
};

/* Allocates what a service would keep between calls: none of it is part of a measured operation. */
static TEE_Result prepare(struct engine *e)
{
	TEE_Result res = TEE_AllocateTransientObject(TEE_TYPE_ECDSA_KEYPAIR, P256_BITS, &e->key);

	if (!res)
		res = TEE_AllocateTransientObject(TEE_TYPE_ECDSA_PUBLIC_KEY, P256_BITS, &e->public_key);
	if (!res)
		res = TEE_AllocateOperation(&e->digest, TEE_ALG_SHA256, TEE_MODE_DIGEST, 0);
	if (!res)
		res = TEE_AllocateOperation(&e->sign, TEE_ALG_ECDSA_SHA256, TEE_MODE_SIGN, P256_BITS);
	if (!res)
		res = TEE_AllocateOperation(&e->verify, TEE_ALG_ECDSA_SHA256, TEE_MODE_VERIFY, P256_BITS);
	return res;
}

TEE_Result engine_open(struct engine **engine)
{
	/* The handles come with the first key, so that opening a session costs what OP-TEE makes it cost. */
	*engine = TEE_Malloc(sizeof(**engine), TEE_MALLOC_FILL_ZERO);
	return *engine ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

void engine_close(struct engine *e)
{
	/* All of these take TEE_HANDLE_NULL. */
	TEE_FreeOperation(e->digest);
	TEE_FreeOperation(e->sign);
	TEE_FreeOperation(e->verify);
	TEE_FreeTransientObject(e->key);
	TEE_FreeTransientObject(e->public_key);
	TEE_Free(e);
}

bool engine_ready(const struct engine *e)
{
	return e->verify;
}

TEE_Result engine_keygen(struct engine *e, struct bench_span *span)
{
	TEE_Result res = e->verify ? TEE_SUCCESS : prepare(e);
	TEE_Attribute curve;

	if (res)
		return res;
	TEE_InitValueAttribute(&curve, TEE_ATTR_ECC_CURVE, TEE_ECC_CURVE_NIST_P256, 0);
	TEE_ResetTransientObject(e->key);
	e->ready = false;

	span->begin = bench_region_begin();
	res = TEE_GenerateKey(e->key, P256_BITS, &curve, 1);
	span->end = bench_region_end();
	return res;
}

/* Exports a number of 32 bytes, however many leading zeros the API left out. */
static TEE_Result get_number(TEE_ObjectHandle object, uint32_t attribute, uint8_t out[ATTEST_SCALAR])
{
	size_t size = ATTEST_SCALAR;
	TEE_Result res = TEE_GetObjectBufferAttribute(object, attribute, out, &size);

	if (res)
		return res;
	TEE_MemMove(out + ATTEST_SCALAR - size, out, size);
	TEE_MemFill(out, 0, ATTEST_SCALAR - size);
	return TEE_SUCCESS;
}

TEE_Result engine_export(struct engine *e, uint8_t public_key[ATTEST_POINT], uint8_t private_key[ATTEST_SCALAR])
{
	TEE_Result res = get_number(e->key, TEE_ATTR_ECC_PUBLIC_VALUE_X, public_key);

	if (!res)
		res = get_number(e->key, TEE_ATTR_ECC_PUBLIC_VALUE_Y, public_key + ATTEST_SCALAR);
	if (!res)
		res = get_number(e->key, TEE_ATTR_ECC_PRIVATE_VALUE, private_key);
	return res;
}

/* Hands the current key to the operations, if it is new: work of the first sign or verify after a keygen. */
static TEE_Result use_key(struct engine *e)
{
	TEE_Result res;

	if (e->ready)
		return TEE_SUCCESS;
	TEE_ResetTransientObject(e->public_key);
	res = TEE_CopyObjectAttributes1(e->public_key, e->key);
	if (!res)
		res = TEE_SetOperationKey(e->sign, e->key);
	if (!res)
		res = TEE_SetOperationKey(e->verify, e->public_key);
	e->ready = !res;
	return res;
}

TEE_Result engine_sign(struct engine *e, const void *message, size_t length, uint8_t signature[ATTEST_POINT],
		       struct bench_span *span)
{
	uint8_t digest[SHA256_BYTES];
	size_t digest_size = sizeof(digest);
	size_t size = ATTEST_POINT;
	TEE_Result res = use_key(e);

	if (res)
		return res;
	span->begin = bench_region_begin();
	res = TEE_DigestDoFinal(e->digest, message, length, digest, &digest_size);
	if (!res)
		res = TEE_AsymmetricSignDigest(e->sign, NULL, 0, digest, digest_size, signature, &size);
	span->end = bench_region_end();
	return res;
}

TEE_Result engine_verify(struct engine *e, const void *message, size_t length, const uint8_t signature[ATTEST_POINT],
			 struct bench_span *span)
{
	uint8_t digest[SHA256_BYTES];
	size_t digest_size = sizeof(digest);
	TEE_Result res = use_key(e);

	if (res)
		return res;
	span->begin = bench_region_begin();
	res = TEE_DigestDoFinal(e->digest, message, length, digest, &digest_size);
	if (!res)
		res = TEE_AsymmetricVerifyDigest(e->verify, NULL, 0, digest, digest_size, signature, ATTEST_POINT);
	span->end = bench_region_end();
	return res;
}
