/* SPDX-License-Identifier: BSD-2-Clause */
#include "gcm.h"

#define MOST_KEY_BITS (KEYCACHE_KEY_BYTES * 8)

TEE_Result gcm_open(struct gcm *gcm, uint32_t mode)
{
	TEE_Result res = TEE_AllocateOperation(&gcm->operation, TEE_ALG_AES_GCM, mode, MOST_KEY_BITS);

	gcm->keyed = false;
	if (!res)
		res = TEE_AllocateTransientObject(TEE_TYPE_AES, MOST_KEY_BITS, &gcm->key);
	if (res)
		gcm_close(gcm);
	return res;
}

void gcm_close(struct gcm *gcm)
{
	/* Both calls take a null handle for nothing to do. */
	TEE_FreeOperation(gcm->operation);
	TEE_FreeTransientObject(gcm->key);
	gcm->operation = TEE_HANDLE_NULL;
	gcm->key = TEE_HANDLE_NULL;
	gcm->keyed = false;
}

TEE_Result gcm_set_key(struct gcm *gcm, const uint8_t *key, size_t bytes)
{
	TEE_Attribute attribute;
	TEE_Result res;

	/* An operation without a key is in its initial state, and must not be reset. */
	if (gcm->keyed)
		TEE_ResetOperation(gcm->operation);
	TEE_InitRefAttribute(&attribute, TEE_ATTR_SECRET_VALUE, (void *)(uintptr_t)key, bytes);
	res = TEE_PopulateTransientObject(gcm->key, &attribute, 1);
	if (!res)
		res = TEE_SetOperationKey(gcm->operation, gcm->key);
	/* The operation has a copy. */
	TEE_ResetTransientObject(gcm->key);
	if (!res)
		gcm->keyed = true;
	return res;
}

void gcm_clear_key(struct gcm *gcm)
{
	if (!gcm->keyed)
		return;
	TEE_ResetOperation(gcm->operation);
	/* Without a key it has nothing to fail. */
	(void)TEE_SetOperationKey(gcm->operation, TEE_HANDLE_NULL);
	gcm->keyed = false;
}

static TEE_Result begin(struct gcm *gcm, const struct gcm_frame *frame, size_t bytes)
{
	TEE_Result res;

	if (!gcm->keyed)
		return TEE_ERROR_BAD_STATE;
	/* After a tag that did not fit the operation is still in the middle. */
	TEE_ResetOperation(gcm->operation);
	res = TEE_AEInit(gcm->operation, frame->nonce, KEYCACHE_NONCE_BYTES, KEYCACHE_TAG_BYTES * 8, frame->aad_bytes,
			 bytes);
	if (!res && frame->aad_bytes)
		TEE_AEUpdateAAD(gcm->operation, frame->aad, frame->aad_bytes);
	return res;
}

TEE_Result gcm_encrypt(struct gcm *gcm, const struct gcm_frame *frame, const void *in, size_t bytes, void *out)
{
	size_t tag_bytes = KEYCACHE_TAG_BYTES;
	size_t written = bytes;
	TEE_Result res = begin(gcm, frame, bytes);

	if (res)
		return res;
	return TEE_AEEncryptFinal(gcm->operation, in, bytes, out, &written, frame->tag, &tag_bytes);
}

TEE_Result gcm_decrypt(struct gcm *gcm, const struct gcm_frame *frame, const void *in, size_t bytes, void *out)
{
	size_t written = bytes;
	TEE_Result res = begin(gcm, frame, bytes);

	if (!res)
		res = TEE_AEDecryptFinal(gcm->operation, in, bytes, out, &written, frame->tag, KEYCACHE_TAG_BYTES);
	/* OP-TEE decrypts while it authenticates. */
	if (res)
		wipe(out, bytes);
	return res;
}
