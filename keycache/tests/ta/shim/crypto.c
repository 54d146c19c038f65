/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys and AES-GCM. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct __TEE_OperationHandle {
	uint32_t mode;
	uint32_t max_bits;
	bool keyed;
	bool begun; /* TEE_AEInit was called, and nothing has ended it */
	uint8_t key[32];
	size_t key_bytes;
	size_t aad_left;
	EVP_CIPHER_CTX *cipher;
};

static void check(bool holds, const char *why)
{
	if (!holds)
		shim_panic(why);
}

TEE_Result TEE_AllocateTransientObject(uint32_t type, uint32_t max_bits, TEE_ObjectHandle *object)
{
	if (type != TEE_TYPE_AES || (max_bits != 128 && max_bits != 192 && max_bits != 256))
		return TEE_ERROR_NOT_SUPPORTED;
	*object = calloc(1, sizeof(**object));
	if (!*object)
		return TEE_ERROR_OUT_OF_MEMORY;
	(*object)->max_bits = max_bits;
	return TEE_SUCCESS;
}

void TEE_FreeTransientObject(TEE_ObjectHandle object)
{
	if (object)
		OPENSSL_cleanse(object, sizeof(*object));
	free(object);
}

void TEE_ResetTransientObject(TEE_ObjectHandle object)
{
	if (!object)
		return;
	check(!object->persistent, "TEE_ResetTransientObject of a persistent object");
	OPENSSL_cleanse(object->key, sizeof(object->key));
	object->key_bytes = 0;
}

void TEE_InitRefAttribute(TEE_Attribute *attribute, uint32_t id, const void *buffer, size_t length)
{
	attribute->attributeID = id;
	attribute->content.ref.buffer = (void *)(uintptr_t)buffer;
	attribute->content.ref.length = length;
}

TEE_Result TEE_PopulateTransientObject(TEE_ObjectHandle object, const TEE_Attribute *attributes, uint32_t count)
{
	size_t bytes = attributes->content.ref.length;

	check(object && !object->persistent && !object->key_bytes, "TEE_PopulateTransientObject: state");
	check(count == 1 && attributes->attributeID == TEE_ATTR_SECRET_VALUE,
	      "TEE_PopulateTransientObject: attributes");
	shim_private(attributes->content.ref.buffer, bytes, "TEE_PopulateTransientObject of shared memory");
	if ((bytes != 16 && bytes != 24 && bytes != 32) || bytes * 8 > object->max_bits)
		return TEE_ERROR_BAD_PARAMETERS;
	memcpy(object->key, attributes->content.ref.buffer, bytes);
	object->key_bytes = bytes;
	return TEE_SUCCESS;
}

TEE_Result TEE_AllocateOperation(TEE_OperationHandle *operation, uint32_t algorithm, uint32_t mode, uint32_t max_bits)
{
	if (algorithm != TEE_ALG_AES_GCM || mode > TEE_MODE_DECRYPT || max_bits > 256)
		return TEE_ERROR_NOT_SUPPORTED;
	*operation = calloc(1, sizeof(**operation));
	if (!*operation)
		return TEE_ERROR_OUT_OF_MEMORY;
	(*operation)->mode = mode;
	(*operation)->max_bits = max_bits;
	(*operation)->cipher = EVP_CIPHER_CTX_new();
	if (!(*operation)->cipher)
		abort();
	return TEE_SUCCESS;
}

void TEE_FreeOperation(TEE_OperationHandle operation)
{
	if (!operation)
		return;
	EVP_CIPHER_CTX_free(operation->cipher);
	OPENSSL_cleanse(operation, sizeof(*operation));
	free(operation);
}

void TEE_ResetOperation(TEE_OperationHandle operation)
{
	check(operation && operation->keyed, "TEE_ResetOperation without a key");
	operation->begun = false;
}

TEE_Result TEE_SetOperationKey(TEE_OperationHandle operation, TEE_ObjectHandle key)
{
	check(operation && !operation->begun, "TEE_SetOperationKey in the middle");
	OPENSSL_cleanse(operation->key, sizeof(operation->key));
	operation->keyed = false;
	if (!key)
		return TEE_SUCCESS;
	check(key->key_bytes && key->key_bytes * 8 <= operation->max_bits, "TEE_SetOperationKey: key");
	memcpy(operation->key, key->key, sizeof(operation->key));
	operation->key_bytes = key->key_bytes;
	operation->keyed = true;
	return TEE_SUCCESS;
}

TEE_Result TEE_AEInit(TEE_OperationHandle operation, const void *nonce, size_t nonce_bytes, uint32_t tag_bits,
		      size_t aad_bytes, size_t payload_bytes)
{
	const EVP_CIPHER *cipher;

	(void)payload_bytes;
	check(operation && operation->keyed && !operation->begun, "TEE_AEInit: state");
	check(nonce && nonce_bytes == 12 && tag_bits == 128, "TEE_AEInit: nonce or tag");
	shim_private(nonce, nonce_bytes, "TEE_AEInit of shared memory");
	cipher = operation->key_bytes == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
	if (EVP_CipherInit_ex(operation->cipher, cipher, NULL, operation->key, nonce,
			      operation->mode == TEE_MODE_ENCRYPT) != 1)
		abort();
	operation->begun = true;
	operation->aad_left = aad_bytes;
	return TEE_SUCCESS;
}

void TEE_AEUpdateAAD(TEE_OperationHandle operation, const void *aad, size_t bytes)
{
	int written;

	check(operation && operation->begun && bytes <= operation->aad_left, "TEE_AEUpdateAAD: state");
	shim_private(aad, bytes, "TEE_AEUpdateAAD of shared memory");
	operation->aad_left -= bytes;
	if (EVP_CipherUpdate(operation->cipher, NULL, &written, aad, (int)bytes) != 1)
		abort();
}

static void run(TEE_OperationHandle operation, uint32_t mode, const void *in, size_t in_bytes, void *out,
		size_t *out_bytes)
{
	const uint8_t *begin = in;
	const uint8_t *target = out;
	int written = 0;

	check(operation && operation->begun && !operation->aad_left && operation->mode == mode,
	      "TEE_AE...Final: state");
	check(*out_bytes >= in_bytes, "TEE_AE...Final: output too short");
	check(begin + in_bytes <= target || target + in_bytes <= begin, "TEE_AE...Final: texts overlap");
	shim_private(in, in_bytes, "TEE_AE...Final of shared memory");
	shim_private(out, in_bytes, "TEE_AE...Final to shared memory");
	if (in_bytes && EVP_CipherUpdate(operation->cipher, out, &written, in, (int)in_bytes) != 1)
		abort();
	*out_bytes = in_bytes;
}

TEE_Result TEE_AEEncryptFinal(TEE_OperationHandle operation, const void *in, size_t in_bytes, void *out,
			      size_t *out_bytes, void *tag, size_t *tag_bytes)
{
	uint8_t rest[16];
	int written;

	run(operation, TEE_MODE_ENCRYPT, in, in_bytes, out, out_bytes);
	check(*tag_bytes >= 16, "TEE_AEEncryptFinal: tag too short");
	shim_private(tag, 16, "TEE_AEEncryptFinal to shared memory");
	if (EVP_CipherFinal_ex(operation->cipher, rest, &written) != 1 ||
	    EVP_CIPHER_CTX_ctrl(operation->cipher, EVP_CTRL_AEAD_GET_TAG, 16, tag) != 1)
		abort();
	*tag_bytes = 16;
	operation->begun = false;
	return TEE_SUCCESS;
}

TEE_Result TEE_AEDecryptFinal(TEE_OperationHandle operation, const void *in, size_t in_bytes, void *out,
			      size_t *out_bytes, void *tag, size_t tag_bytes)
{
	uint8_t rest[16];
	int written;

	run(operation, TEE_MODE_DECRYPT, in, in_bytes, out, out_bytes);
	check(tag_bytes == 16, "TEE_AEDecryptFinal: tag");
	shim_private(tag, 16, "TEE_AEDecryptFinal of shared memory");
	if (EVP_CIPHER_CTX_ctrl(operation->cipher, EVP_CTRL_AEAD_SET_TAG, 16, tag) != 1)
		abort();
	/* As in OP-TEE, the operation stays in the middle if the tag does not fit. */
	if (EVP_CipherFinal_ex(operation->cipher, rest, &written) != 1)
		return TEE_ERROR_MAC_INVALID;
	operation->begun = false;
	return TEE_SUCCESS;
}
