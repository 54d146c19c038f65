/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-GCM by the GlobalPlatform API, with operations that are allocated once. */
#ifndef KEYCACHE_GCM_H
#define KEYCACHE_GCM_H

#include "types.h"

/* An operation and the key that it has. */
struct gcm {
	TEE_OperationHandle operation;
	TEE_ObjectHandle key;
	bool keyed;
};

/* What is authenticated besides, and where nonce and tag are. All of it is memory of the TA, as are the texts. */
struct gcm_frame {
	const uint8_t *nonce; /* KEYCACHE_NONCE_BYTES */
	uint8_t *tag;         /* KEYCACHE_TAG_BYTES */
	const void *aad;
	size_t aad_bytes;
};

/* mode: TEE_MODE_ENCRYPT or TEE_MODE_DECRYPT. */
TEE_Result gcm_open(struct gcm *gcm, uint32_t mode);
void gcm_close(struct gcm *gcm);
TEE_Result gcm_set_key(struct gcm *gcm, const uint8_t *key, size_t bytes);
/* Leaves no key in the operation. */
void gcm_clear_key(struct gcm *gcm);
TEE_Result gcm_encrypt(struct gcm *gcm, const struct gcm_frame *frame, const void *in, size_t bytes, void *out);
/* TEE_ERROR_MAC_INVALID: `out` is wiped. */
TEE_Result gcm_decrypt(struct gcm *gcm, const struct gcm_frame *frame, const void *in, size_t bytes, void *out);

#endif /* KEYCACHE_GCM_H */
