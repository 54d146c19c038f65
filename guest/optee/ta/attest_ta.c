/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attestation as a trusted application: keys stay here, the GlobalPlatform API does the work, and each operation is
 * measured from where the TA stands. A session has its own key.
 */
#include <tee_internal_api.h>
#include <tee_internal_api_extensions.h>

#include "attest_ta.h"
#include "calibrate.h"
#include "more.h"

#define P256_BITS 256
#define P256_BYTES 32
#define SHA256_BYTES 32

struct session {
	TEE_ObjectHandle key;
	TEE_ObjectHandle public_key;
	TEE_OperationHandle digest;
	TEE_OperationHandle sign;
	TEE_OperationHandle verify;
	bool ready; /* the operations have the current key */
};

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

/* Allocates what a service would keep between calls: none of it is part of a measured operation. */
static TEE_Result prepare(struct session *s)
{
	TEE_Result res = TEE_AllocateTransientObject(TEE_TYPE_ECDSA_KEYPAIR, P256_BITS, &s->key);

	if (!res)
		res = TEE_AllocateTransientObject(TEE_TYPE_ECDSA_PUBLIC_KEY, P256_BITS, &s->public_key);
	if (!res)
		res = TEE_AllocateOperation(&s->digest, TEE_ALG_SHA256, TEE_MODE_DIGEST, 0);
	if (!res)
		res = TEE_AllocateOperation(&s->sign, TEE_ALG_ECDSA_SHA256, TEE_MODE_SIGN, P256_BITS);
	if (!res)
		res = TEE_AllocateOperation(&s->verify, TEE_ALG_ECDSA_SHA256, TEE_MODE_VERIFY, P256_BITS);
	return res;
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	(void)params;
	if (types !=
	    TEE_PARAM_TYPES(TEE_PARAM_TYPE_NONE, TEE_PARAM_TYPE_NONE, TEE_PARAM_TYPE_NONE, TEE_PARAM_TYPE_NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	/* The handles come with the first key, so that opening a session costs what OP-TEE makes it cost. */
	*context = TEE_Malloc(sizeof(struct session), TEE_MALLOC_FILL_ZERO);
	return *context ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

void TA_CloseSessionEntryPoint(void *context)
{
	struct session *s = context;

	/* All of these take TEE_HANDLE_NULL. */
	TEE_FreeOperation(s->digest);
	TEE_FreeOperation(s->sign);
	TEE_FreeOperation(s->verify);
	TEE_FreeTransientObject(s->key);
	TEE_FreeTransientObject(s->public_key);
	TEE_Free(s);
	digest_close();
	storage_close();
}

static void give_span(TEE_Param params[TEE_NUM_PARAMS], uint64_t begin, uint64_t end)
{
	params[2].value.a = (uint32_t)begin;
	params[2].value.b = (uint32_t)(begin >> 32);
	params[3].value.a = (uint32_t)end;
	params[3].value.b = (uint32_t)(end >> 32);
}

static TEE_Result calibrate(TEE_Param params[TEE_NUM_PARAMS])
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);

	params[0].value.a = (uint32_t)overhead.count;
	params[1].value.a = (uint32_t)overhead.nested;
	return TEE_SUCCESS;
}

/* Exports a number of 32 bytes, however many leading zeros the API left out. */
static TEE_Result get_number(TEE_ObjectHandle object, uint32_t attribute, uint8_t out[P256_BYTES])
{
	size_t size = P256_BYTES;
	TEE_Result res = TEE_GetObjectBufferAttribute(object, attribute, out, &size);

	if (res)
		return res;
	TEE_MemMove(out + P256_BYTES - size, out, size);
	TEE_MemFill(out, 0, P256_BYTES - size);
	return TEE_SUCCESS;
}

static TEE_Result keygen(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_Attribute curve;
	TEE_Result res;
	uint64_t begin;
	uint64_t end;

	TEE_InitValueAttribute(&curve, TEE_ATTR_ECC_CURVE, TEE_ECC_CURVE_NIST_P256, 0);
	TEE_ResetTransientObject(s->key);
	s->ready = false;

	begin = bench_region_begin();
	res = TEE_GenerateKey(s->key, P256_BITS, &curve, 1);
	end = bench_region_end();
	give_span(params, begin, end);
	return res;
}

/* Hands the current key to the operations, if it is new: work of the first sign or verify after a keygen. */
static TEE_Result use_key(struct session *s)
{
	TEE_Result res;

	if (s->ready)
		return TEE_SUCCESS;
	TEE_ResetTransientObject(s->public_key);
	res = TEE_CopyObjectAttributes1(s->public_key, s->key);
	if (!res)
		res = TEE_SetOperationKey(s->sign, s->key);
	if (!res)
		res = TEE_SetOperationKey(s->verify, s->public_key);
	s->ready = !res;
	return res;
}

static TEE_Result sign(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	uint8_t digest[SHA256_BYTES];
	size_t digest_size = sizeof(digest);
	size_t size = params[1].memref.size;
	TEE_Result res;
	uint64_t begin;
	uint64_t end;

	if (size != 2 * P256_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	res = use_key(s);
	if (res)
		return res;

	begin = bench_region_begin();
	res = TEE_DigestDoFinal(s->digest, params[0].memref.buffer, params[0].memref.size, digest, &digest_size);
	if (!res)
		res = TEE_AsymmetricSignDigest(s->sign, NULL, 0, digest, digest_size, params[1].memref.buffer, &size);
	end = bench_region_end();

	params[1].memref.size = size;
	give_span(params, begin, end);
	return res;
}

static TEE_Result verify(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	uint8_t digest[SHA256_BYTES];
	size_t digest_size = sizeof(digest);
	TEE_Result res;
	uint64_t begin;
	uint64_t end;

	if (params[1].memref.size != 2 * P256_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	res = use_key(s);
	if (res)
		return res;

	begin = bench_region_begin();
	res = TEE_DigestDoFinal(s->digest, params[0].memref.buffer, params[0].memref.size, digest, &digest_size);
	if (!res)
		res = TEE_AsymmetricVerifyDigest(s->verify, NULL, 0, digest, digest_size, params[1].memref.buffer,
						 params[1].memref.size);
	end = bench_region_end();

	give_span(params, begin, end);
	return res;
}

static TEE_Result command_keygen(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_Result res = s->verify ? TEE_SUCCESS : prepare(s);

	return res ? res : keygen(s, params);
}

static TEE_Result command_export(struct session *s, TEE_Param params[TEE_NUM_PARAMS])
{
	uint8_t *public_key = params[0].memref.buffer;
	TEE_Result res;

	if (params[0].memref.size != 2 * P256_BYTES || params[1].memref.size != P256_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	res = get_number(s->key, TEE_ATTR_ECC_PUBLIC_VALUE_X, public_key);
	if (!res)
		res = get_number(s->key, TEE_ATTR_ECC_PUBLIC_VALUE_Y, public_key + P256_BYTES);
	if (!res)
		res = get_number(s->key, TEE_ATTR_ECC_PRIVATE_VALUE, params[1].memref.buffer);
	return res;
}

#define NONE TEE_PARAM_TYPE_NONE
#define IN TEE_PARAM_TYPE_MEMREF_INPUT
#define OUT TEE_PARAM_TYPE_MEMREF_OUTPUT
#define VALUE TEE_PARAM_TYPE_VALUE_OUTPUT

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	/* The parameter types and the function of every command that works on the session's key. */
	static const struct {
		uint32_t types;
		TEE_Result (*run)(struct session *s, TEE_Param params[TEE_NUM_PARAMS]);
	} commands[] = {
		[ATTEST_KEYGEN] = { TEE_PARAM_TYPES(NONE, NONE, VALUE, VALUE), command_keygen },
		[ATTEST_EXPORT] = { TEE_PARAM_TYPES(OUT, OUT, NONE, NONE), command_export },
		[ATTEST_SIGN] = { TEE_PARAM_TYPES(IN, OUT, VALUE, VALUE), sign },
		[ATTEST_VERIFY] = { TEE_PARAM_TYPES(IN, IN, VALUE, VALUE), verify },
	};

	struct session *s = context;

	switch (command) {
	case ATTEST_EMPTY:
		return types ? TEE_ERROR_BAD_PARAMETERS : TEE_SUCCESS;
	case ATTEST_CALIBRATE:
		if (types != TEE_PARAM_TYPES(VALUE, VALUE, NONE, NONE))
			return TEE_ERROR_BAD_PARAMETERS;
		return calibrate(params);
	case ATTEST_PANIC:
		TEE_Panic(0xbad);
		return TEE_ERROR_GENERIC;
	default:
		break;
	}
	if (command >= sizeof(commands) / sizeof(commands[0]) || !commands[command].run)
		return more_commands(command, types, params);
	if (types != commands[command].types)
		return TEE_ERROR_BAD_PARAMETERS;
	if (command != ATTEST_KEYGEN && !s->verify)
		return TEE_ERROR_BAD_STATE;
	return commands[command].run(s, params);
}
