/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES by the GlobalPlatform API, one call a command, an operation a session. Key, vector and data are the client's: what
 * is measured is the way that they take, and a TA that keeps its key would not let it be set like this.
 */
#include "aes.h"
#include "app_ta.h"

struct session {
	TEE_OperationHandle operation;
	TEE_ObjectHandle key;
	uint32_t mode;
	uint32_t direction;
	uint32_t key_bits;
	bool keyed; /* the operation has a key */
	bool ready; /* and a vector or nonce: it can take data */
};

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	(void)params;
	if (types != TEE_PARAM_TYPES(NONE, NONE, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	*context = TEE_Malloc(sizeof(struct session), TEE_MALLOC_FILL_ZERO);
	return *context ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

/* Leaves a session as it was when it was opened. */
static void free_all(struct session *s)
{
	/* Both calls take a null handle for nothing to do. */
	TEE_FreeOperation(s->operation);
	TEE_FreeTransientObject(s->key);
	TEE_MemFill(s, 0, sizeof(*s));
}

void TA_CloseSessionEntryPoint(void *context)
{
	free_all(context);
	TEE_Free(context);
}

static TEE_Result prepare(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	static const uint32_t algorithms[] = {
		[AES_CBC] = TEE_ALG_AES_CBC_NOPAD,
		[AES_CTR] = TEE_ALG_AES_CTR,
		[AES_GCM] = TEE_ALG_AES_GCM,
	};
	struct session *s = session;
	uint32_t mode = params[0].value.a;
	uint32_t direction = params[0].value.b;
	uint32_t key_bits = params[1].value.a;
	TEE_Result res;
	uint64_t begin;
	uint64_t end;

	if (mode > AES_GCM || direction > AES_DECRYPT || params[1].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	if (key_bits != 128 && key_bits != 256)
		return TEE_ERROR_BAD_PARAMETERS;
	free_all(s);

	begin = bench_region_begin();
	res = TEE_AllocateOperation(&s->operation, algorithms[mode],
				    direction == AES_ENCRYPT ? TEE_MODE_ENCRYPT : TEE_MODE_DECRYPT, key_bits);
	if (!res)
		res = TEE_AllocateTransientObject(TEE_TYPE_AES, key_bits, &s->key);
	end = bench_region_end();
	if (res) {
		free_all(s);
		return res;
	}
	s->mode = mode;
	s->direction = direction;
	s->key_bits = key_bits;
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result set_key(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	uint8_t key[AES_MOST_KEY_BYTES];
	size_t size = params[0].memref.size;
	TEE_Attribute attribute;
	TEE_Result res;
	uint64_t begin;
	uint64_t end;

	if (!s->operation)
		return TEE_ERROR_BAD_STATE;
	if (!params[0].memref.buffer || size != s->key_bits / 8)
		return TEE_ERROR_BAD_PARAMETERS;
	/* The memory is the client's too: what is looked at more than once is looked at here. */
	TEE_MemMove(key, params[0].memref.buffer, size);
	s->ready = false;

	begin = bench_region_begin();
	TEE_InitRefAttribute(&attribute, TEE_ATTR_SECRET_VALUE, key, size);
	TEE_ResetTransientObject(s->key);
	res = TEE_PopulateTransientObject(s->key, &attribute, 1);
	/* An operation without a key is in its initial state, and must not be reset. */
	if (!res && s->keyed)
		TEE_ResetOperation(s->operation);
	if (!res)
		res = TEE_SetOperationKey(s->operation, s->key);
	end = bench_region_end();
	TEE_MemFill(key, 0, sizeof(key));
	if (res)
		return res;
	s->keyed = true;
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result set_iv(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	uint8_t iv[AES_BLOCK_BYTES];
	uint64_t begin;
	uint64_t end;

	if (!s->keyed || s->mode == AES_GCM)
		return TEE_ERROR_BAD_STATE;
	if (!params[0].memref.buffer || params[0].memref.size != sizeof(iv))
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(iv, params[0].memref.buffer, sizeof(iv));

	begin = bench_region_begin();
	TEE_CipherInit(s->operation, iv, sizeof(iv));
	end = bench_region_end();
	s->ready = true;
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result set_nonce(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	uint8_t nonce[AES_NONCE_BYTES];
	uint8_t aad[AES_MOST_AAD_BYTES];
	size_t aad_size = params[1].memref.size;
	TEE_Result res;
	uint64_t begin;
	uint64_t end;

	if (!s->keyed || s->mode != AES_GCM)
		return TEE_ERROR_BAD_STATE;
	if (!params[0].memref.buffer || params[0].memref.size != sizeof(nonce))
		return TEE_ERROR_BAD_PARAMETERS;
	if (!params[1].memref.buffer || !aad_size || aad_size > sizeof(aad))
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(nonce, params[0].memref.buffer, sizeof(nonce));
	TEE_MemMove(aad, params[1].memref.buffer, aad_size);
	if (s->ready)
		TEE_ResetOperation(s->operation);
	s->ready = false;

	begin = bench_region_begin();
	/* Only CCM asks for the length of what will come. */
	res = TEE_AEInit(s->operation, nonce, sizeof(nonce), AES_TAG_BYTES * 8, aad_size, 0);
	if (!res)
		TEE_AEUpdateAAD(s->operation, aad, aad_size);
	end = bench_region_end();
	if (res)
		return res;
	s->ready = true;
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result cipher(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	const uint8_t *in = params[0].memref.buffer;
	uint8_t *out = params[1].memref.buffer;
	size_t size = params[0].memref.size;
	size_t written = params[1].memref.size;
	size_t tag_size = AES_TAG_BYTES;
	uint8_t tag[AES_TAG_BYTES] = { 0 };
	size_t due = size;
	TEE_Result res;
	uint64_t begin;
	uint64_t end;

	if (!s->ready)
		return TEE_ERROR_BAD_STATE;
	if (!in || !size)
		return TEE_ERROR_BAD_PARAMETERS;
	if (s->mode == AES_CBC && size % AES_BLOCK_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	if (s->mode == AES_GCM && s->direction == AES_ENCRYPT) {
		if (size > SIZE_MAX - AES_TAG_BYTES)
			return TEE_ERROR_BAD_PARAMETERS;
		due = size + AES_TAG_BYTES;
	} else if (s->mode == AES_GCM) {
		if (size <= AES_TAG_BYTES)
			return TEE_ERROR_BAD_PARAMETERS;
		size -= AES_TAG_BYTES;
		due = size;
	}
	params[1].memref.size = due;
	if (!out || written < due)
		return TEE_ERROR_SHORT_BUFFER;
	written = size;
	s->ready = false;

	begin = bench_region_begin();
	if (s->mode != AES_GCM) {
		res = TEE_CipherDoFinal(s->operation, in, size, out, &written);
	} else if (s->direction == AES_ENCRYPT) {
		res = TEE_AEEncryptFinal(s->operation, in, size, out, &written, tag, &tag_size);
		TEE_MemMove(out + size, tag, AES_TAG_BYTES);
	} else {
		TEE_MemMove(tag, in + size, AES_TAG_BYTES);
		res = TEE_AEDecryptFinal(s->operation, in, size, out, &written, tag, AES_TAG_BYTES);
	}
	end = bench_region_end();
	if (res) {
		/* OP-TEE decrypts while it authenticates: what turned out to be forged is not given away. */
		TEE_MemFill(out, 0, due);
		params[1].memref.size = 0;
		return res;
	}
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result release(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)params;
	free_all(session);
	return TEE_SUCCESS;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[AES_PREPARE] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_OUT, VALUE_OUT), prepare },
		[AES_SET_KEY] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, VALUE_OUT, VALUE_OUT), set_key },
		[AES_SET_IV] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, VALUE_OUT, VALUE_OUT), set_iv },
		[AES_SET_NONCE] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, VALUE_OUT, VALUE_OUT), set_nonce },
		[AES_CIPHER] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), cipher },
		[AES_RELEASE] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), release },
		[AES_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
