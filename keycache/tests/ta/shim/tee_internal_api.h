/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As much of the GlobalPlatform TEE Internal Core API 1.3 as the key cache's TA uses, so that its sources run on the host.
 * Names, types and numbers are the specification's. What GlobalPlatform calls a panic ends the command (shim.h).
 */
#ifndef SHIM_TEE_INTERNAL_API_H
#define SHIM_TEE_INTERNAL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t TEE_Result;
typedef uint32_t TEE_OperationMode;
typedef int TEE_Whence;
typedef struct __TEE_OperationHandle *TEE_OperationHandle;
typedef struct __TEE_ObjectHandle *TEE_ObjectHandle;
typedef uintptr_t TEE_PropSetHandle;

typedef struct {
	uint32_t timeLow;
	uint16_t timeMid;
	uint16_t timeHiAndVersion;
	uint8_t clockSeqAndNode[8];
} TEE_UUID;

typedef struct {
	uint32_t login;
	TEE_UUID uuid;
} TEE_Identity;

#define TEE_HANDLE_NULL 0
#define TEE_NUM_PARAMS 4

#define TEE_SUCCESS 0x00000000
#define TEE_ERROR_CORRUPT_OBJECT 0xF0100001
#define TEE_ERROR_STORAGE_NOT_AVAILABLE 0xF0100003
#define TEE_ERROR_GENERIC 0xFFFF0000
#define TEE_ERROR_ACCESS_DENIED 0xFFFF0001
#define TEE_ERROR_ACCESS_CONFLICT 0xFFFF0003
#define TEE_ERROR_EXCESS_DATA 0xFFFF0004
#define TEE_ERROR_BAD_FORMAT 0xFFFF0005
#define TEE_ERROR_BAD_PARAMETERS 0xFFFF0006
#define TEE_ERROR_BAD_STATE 0xFFFF0007
#define TEE_ERROR_ITEM_NOT_FOUND 0xFFFF0008
#define TEE_ERROR_NOT_SUPPORTED 0xFFFF000A
#define TEE_ERROR_OUT_OF_MEMORY 0xFFFF000C
#define TEE_ERROR_SECURITY 0xFFFF000F
#define TEE_ERROR_SHORT_BUFFER 0xFFFF0010
#define TEE_ERROR_OVERFLOW 0xFFFF300F
#define TEE_ERROR_TARGET_DEAD 0xFFFF3024
#define TEE_ERROR_STORAGE_NO_SPACE 0xFFFF3041
#define TEE_ERROR_MAC_INVALID 0xFFFF3071
#define TEE_ERROR_SIGNATURE_INVALID 0xFFFF3072

#define TEE_PARAM_TYPE_NONE 0
#define TEE_PARAM_TYPE_VALUE_INPUT 1
#define TEE_PARAM_TYPE_VALUE_OUTPUT 2
#define TEE_PARAM_TYPE_VALUE_INOUT 3
#define TEE_PARAM_TYPE_MEMREF_INPUT 5
#define TEE_PARAM_TYPE_MEMREF_OUTPUT 6
#define TEE_PARAM_TYPE_MEMREF_INOUT 7
#define TEE_PARAM_TYPES(t0, t1, t2, t3) ((t0) | ((t1) << 4) | ((t2) << 8) | ((t3) << 12))
#define TEE_PARAM_TYPE_GET(t, i) (((t) >> ((i) * 4)) & 0xF)

#define TEE_LOGIN_PUBLIC 0x00000000
#define TEE_LOGIN_USER 0x00000001
#define TEE_PROPSET_CURRENT_CLIENT ((TEE_PropSetHandle)0xFFFFFFFE)

#define TEE_ALG_AES_GCM 0x40000810
#define TEE_ALG_SHA256 0x50000004
#define TEE_ALG_ECDSA_SHA256 0x70003042
#define TEE_ALG_ECDH_DERIVE_SHARED_SECRET 0x80000042
#define TEE_TYPE_AES 0xA0000010
#define TEE_TYPE_ECDSA_PUBLIC_KEY 0xA0000041
#define TEE_TYPE_ECDH_KEYPAIR 0xA1000042
#define TEE_TYPE_GENERIC_SECRET 0xA0000000
#define TEE_ATTR_SECRET_VALUE 0xC0000000
#define TEE_ATTR_ECC_PUBLIC_VALUE_X 0xD0000141
#define TEE_ATTR_ECC_PUBLIC_VALUE_Y 0xD0000241
#define TEE_ATTR_ECC_PRIVATE_VALUE 0xC0000341
#define TEE_ATTR_ECC_CURVE 0xF0000441
#define TEE_ECC_CURVE_NIST_P256 0x00000003
#define TEE_MODE_ENCRYPT 0
#define TEE_MODE_DECRYPT 1
#define TEE_MODE_VERIFY 3
#define TEE_MODE_DIGEST 5
#define TEE_MODE_DERIVE 6
#define TEE_MALLOC_FILL_ZERO 0x00000000

#define TEE_DATA_FLAG_ACCESS_READ 0x00000001
#define TEE_DATA_FLAG_ACCESS_WRITE 0x00000002
#define TEE_DATA_FLAG_ACCESS_WRITE_META 0x00000004
#define TEE_DATA_SEEK_SET 0
#define TEE_DATA_SEEK_CUR 1
#define TEE_DATA_SEEK_END 2
#define TEE_OBJECT_ID_MAX_LEN 64

typedef union {
	struct {
		void *buffer;
		size_t size;
	} memref;
	struct {
		uint32_t a;
		uint32_t b;
	} value;
} TEE_Param;

typedef struct {
	uint32_t attributeID;
	union {
		struct {
			void *buffer;
			size_t length;
		} ref;
		struct {
			uint32_t a;
			uint32_t b;
		} value;
	} content;
} TEE_Attribute;

typedef struct {
	uint32_t objectType;
	uint32_t objectSize;
	uint32_t maxObjectSize;
	uint32_t objectUsage;
	size_t dataSize;
	size_t dataPosition;
	uint32_t handleFlags;
} TEE_ObjectInfo;

void TEE_Panic(TEE_Result code) __attribute__((noreturn));
TEE_Result TEE_GetPropertyAsIdentity(TEE_PropSetHandle set, const char *name, TEE_Identity *value);

void *TEE_Malloc(size_t size, uint32_t hint);
void TEE_Free(void *buffer);
void TEE_MemMove(void *dest, const void *src, size_t size);
int32_t TEE_MemCompare(const void *one, const void *other, size_t size);
void TEE_MemFill(void *buffer, uint8_t x, size_t size);
void TEE_GenerateRandom(void *buffer, size_t size);

TEE_Result TEE_AllocateTransientObject(uint32_t type, uint32_t max_bits, TEE_ObjectHandle *object);
void TEE_FreeTransientObject(TEE_ObjectHandle object);
void TEE_ResetTransientObject(TEE_ObjectHandle object);
void TEE_InitRefAttribute(TEE_Attribute *attribute, uint32_t id, const void *buffer, size_t length);
void TEE_InitValueAttribute(TEE_Attribute *attribute, uint32_t id, uint32_t a, uint32_t b);
TEE_Result TEE_PopulateTransientObject(TEE_ObjectHandle object, const TEE_Attribute *attributes, uint32_t count);
TEE_Result TEE_GenerateKey(TEE_ObjectHandle object, uint32_t bits, const TEE_Attribute *parameters, uint32_t count);
TEE_Result TEE_GetObjectBufferAttribute(TEE_ObjectHandle object, uint32_t id, void *buffer, size_t *size);

TEE_Result TEE_AllocateOperation(TEE_OperationHandle *operation, uint32_t algorithm, uint32_t mode, uint32_t max_bits);
void TEE_FreeOperation(TEE_OperationHandle operation);
void TEE_ResetOperation(TEE_OperationHandle operation);
TEE_Result TEE_SetOperationKey(TEE_OperationHandle operation, TEE_ObjectHandle key);
void TEE_DigestUpdate(TEE_OperationHandle operation, const void *chunk, size_t bytes);
TEE_Result TEE_DigestDoFinal(TEE_OperationHandle operation, const void *chunk, size_t bytes, void *hash,
			     size_t *hash_bytes);
void TEE_DeriveKey(TEE_OperationHandle operation, const TEE_Attribute *parameters, uint32_t count,
		   TEE_ObjectHandle derived);
TEE_Result TEE_AsymmetricVerifyDigest(TEE_OperationHandle operation, const TEE_Attribute *parameters, uint32_t count,
				      const void *digest, size_t digest_bytes, const void *signature,
				      size_t signature_bytes);
TEE_Result TEE_AEInit(TEE_OperationHandle operation, const void *nonce, size_t nonce_bytes, uint32_t tag_bits,
		      size_t aad_bytes, size_t payload_bytes);
void TEE_AEUpdateAAD(TEE_OperationHandle operation, const void *aad, size_t bytes);
TEE_Result TEE_AEEncryptFinal(TEE_OperationHandle operation, const void *in, size_t in_bytes, void *out,
			      size_t *out_bytes, void *tag, size_t *tag_bytes);
TEE_Result TEE_AEDecryptFinal(TEE_OperationHandle operation, const void *in, size_t in_bytes, void *out,
			      size_t *out_bytes, void *tag, size_t tag_bytes);

TEE_Result TEE_OpenPersistentObject(uint32_t storage, const void *id, size_t id_bytes, uint32_t flags,
				    TEE_ObjectHandle *object);
TEE_Result TEE_CreatePersistentObject(uint32_t storage, const void *id, size_t id_bytes, uint32_t flags,
				      TEE_ObjectHandle attributes, const void *data, size_t bytes,
				      TEE_ObjectHandle *object);
void TEE_CloseObject(TEE_ObjectHandle object);
TEE_Result TEE_CloseAndDeletePersistentObject1(TEE_ObjectHandle object);
TEE_Result TEE_GetObjectInfo1(TEE_ObjectHandle object, TEE_ObjectInfo *info);
TEE_Result TEE_ReadObjectData(TEE_ObjectHandle object, void *buffer, size_t size, size_t *count);
TEE_Result TEE_WriteObjectData(TEE_ObjectHandle object, const void *buffer, size_t size);
TEE_Result TEE_SeekObjectData(TEE_ObjectHandle object, intmax_t offset, TEE_Whence whence);

/* What a TA has. */
TEE_Result TA_CreateEntryPoint(void);
void TA_DestroyEntryPoint(void);
TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context);
void TA_CloseSessionEntryPoint(void *context);
TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types,
				      TEE_Param params[TEE_NUM_PARAMS]);

#endif /* SHIM_TEE_INTERNAL_API_H */
