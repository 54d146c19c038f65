/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys, AES-GCM, SHA-256, ECDH and ECDSA with P-256. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct __TEE_OperationHandle {
	uint32_t algorithm;
	uint32_t mode;
	uint32_t max_bits;
	bool keyed;
	bool begun; /* TEE_AEInit was called, and nothing has ended it */
	uint8_t key[32];
	size_t key_bytes;
	uint8_t point[64];
	size_t aad_left;
	EVP_CIPHER_CTX *cipher;
	EVP_MD_CTX *hash;
};

static void check(bool holds, const char *why)
{
	if (!holds)
		shim_panic(why);
}

static bool type_fits(uint32_t type, uint32_t max_bits)
{
	switch (type) {
	case TEE_TYPE_AES:
		return max_bits == 128 || max_bits == 192 || max_bits == 256;
	case TEE_TYPE_ECDH_KEYPAIR:
	case TEE_TYPE_ECDSA_PUBLIC_KEY:
		return max_bits == 256;
	case TEE_TYPE_GENERIC_SECRET:
		return max_bits == 256;
	default:
		return false;
	}
}

TEE_Result TEE_AllocateTransientObject(uint32_t type, uint32_t max_bits, TEE_ObjectHandle *object)
{
	if (!type_fits(type, max_bits))
		return TEE_ERROR_NOT_SUPPORTED;
	*object = calloc(1, sizeof(**object));
	if (!*object)
		return TEE_ERROR_OUT_OF_MEMORY;
	(*object)->type = type;
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

void TEE_InitValueAttribute(TEE_Attribute *attribute, uint32_t id, uint32_t a, uint32_t b)
{
	attribute->attributeID = id;
	attribute->content.value.a = a;
	attribute->content.value.b = b;
}

/* The one attribute of this name, of 32 bytes at most, with zeros before it. */
static void take_number(const TEE_Attribute *attributes, uint32_t count, uint32_t id, uint8_t out[32])
{
	unsigned int found = 0;

	memset(out, 0, 32);
	for (; count--; attributes++) {
		size_t bytes = attributes->content.ref.length;

		if (attributes->attributeID != id)
			continue;
		check(bytes && bytes <= 32, "an attribute's length");
		shim_private(attributes->content.ref.buffer, bytes, "an attribute in shared memory");
		memcpy(out + 32 - bytes, attributes->content.ref.buffer, bytes);
		found++;
	}
	check(found == 1, "an attribute is not there, or twice");
}

static void check_curve(const TEE_Attribute *attributes, uint32_t count)
{
	unsigned int found = 0;

	for (; count--; attributes++)
		found += attributes->attributeID == TEE_ATTR_ECC_CURVE &&
			 attributes->content.value.a == TEE_ECC_CURVE_NIST_P256 && !attributes->content.value.b;
	check(found == 1, "the curve");
}

static void populate_secret(TEE_ObjectHandle object, const TEE_Attribute *attribute)
{
	size_t bytes = attribute->content.ref.length;

	check(attribute->attributeID == TEE_ATTR_SECRET_VALUE, "TEE_PopulateTransientObject: attributes");
	shim_private(attribute->content.ref.buffer, bytes, "TEE_PopulateTransientObject of shared memory");
	memcpy(object->key, attribute->content.ref.buffer, bytes);
	object->key_bytes = bytes;
}

TEE_Result TEE_PopulateTransientObject(TEE_ObjectHandle object, const TEE_Attribute *attributes, uint32_t count)
{
	size_t bytes = attributes->content.ref.length;
	bool is_pair;

	check(object && !object->persistent && !object->key_bytes, "TEE_PopulateTransientObject: state");
	if (object->type == TEE_TYPE_AES) {
		check(count == 1, "TEE_PopulateTransientObject: attributes");
		if ((bytes != 16 && bytes != 24 && bytes != 32) || bytes * 8 > object->max_bits)
			return TEE_ERROR_BAD_PARAMETERS;
		populate_secret(object, attributes);
		return TEE_SUCCESS;
	}
	is_pair = object->type == TEE_TYPE_ECDH_KEYPAIR;
	check(is_pair || object->type == TEE_TYPE_ECDSA_PUBLIC_KEY, "TEE_PopulateTransientObject: type");
	check(count == (is_pair ? 4u : 3u), "TEE_PopulateTransientObject: attributes");
	take_number(attributes, count, TEE_ATTR_ECC_PUBLIC_VALUE_X, object->point);
	take_number(attributes, count, TEE_ATTR_ECC_PUBLIC_VALUE_Y, object->point + 32);
	check_curve(attributes, count);
	if (is_pair)
		take_number(attributes, count, TEE_ATTR_ECC_PRIVATE_VALUE, object->key);
	object->key_bytes = 32;
	return TEE_SUCCESS;
}

/* NULL if the point is not on the curve. */
static EVP_PKEY *key_of(const uint8_t point[64], const uint8_t *secret)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	BIGNUM *number = secret ? BN_secure_new() : NULL;
	uint8_t encoded[65] = { 4 };
	OSSL_PARAM *parameters;
	EVP_PKEY *key = NULL;

	memcpy(encoded + 1, point, 64);
	if (!context || !builder ||
	    OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
	    OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, encoded, sizeof(encoded)) != 1)
		abort();
	if (secret &&
	    (!BN_bin2bn(secret, 32, number) || OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) != 1))
		abort();
	parameters = OSSL_PARAM_BLD_to_param(builder);
	if (!parameters || EVP_PKEY_fromdata_init(context) != 1)
		abort();
	if (EVP_PKEY_fromdata(context, &key, secret ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, parameters) != 1)
		key = NULL;
	OSSL_PARAM_free(parameters);
	BN_clear_free(number);
	OSSL_PARAM_BLD_free(builder);
	EVP_PKEY_CTX_free(context);
	return key;
}

static void export(const EVP_PKEY *key, const char *name, uint8_t out[32])
{
	BIGNUM *number = NULL;

	if (EVP_PKEY_get_bn_param(key, name, &number) != 1 || BN_bn2binpad(number, out, 32) != 32)
		abort();
	BN_clear_free(number);
}

TEE_Result TEE_GenerateKey(TEE_ObjectHandle object, uint32_t bits, const TEE_Attribute *parameters, uint32_t count)
{
	EVP_PKEY *key;

	check(object && !object->persistent && !object->key_bytes && object->type == TEE_TYPE_ECDH_KEYPAIR,
	      "TEE_GenerateKey: object");
	check(bits == 256 && count == 1, "TEE_GenerateKey: parameters");
	check_curve(parameters, count);
	key = EVP_EC_gen("P-256");
	if (!key)
		abort();
	export(key, OSSL_PKEY_PARAM_PRIV_KEY, object->key);
	export(key, OSSL_PKEY_PARAM_EC_PUB_X, object->point);
	export(key, OSSL_PKEY_PARAM_EC_PUB_Y, object->point + 32);
	object->key_bytes = 32;
	EVP_PKEY_free(key);
	return TEE_SUCCESS;
}

/* As OP-TEE does, it leaves a number's leading zeros out. */
TEE_Result TEE_GetObjectBufferAttribute(TEE_ObjectHandle object, uint32_t id, void *buffer, size_t *size)
{
	const uint8_t *from = object->key;
	size_t bytes = object->key_bytes;

	check(object && !object->persistent && object->key_bytes, "TEE_GetObjectBufferAttribute: state");
	check(id == TEE_ATTR_SECRET_VALUE
		      ? object->type == TEE_TYPE_GENERIC_SECRET
		      : object->type == TEE_TYPE_ECDH_KEYPAIR &&
				(id == TEE_ATTR_ECC_PUBLIC_VALUE_X || id == TEE_ATTR_ECC_PUBLIC_VALUE_Y ||
				 id == TEE_ATTR_ECC_PRIVATE_VALUE),
	      "TEE_GetObjectBufferAttribute: attribute");
	if (id == TEE_ATTR_ECC_PUBLIC_VALUE_X)
		from = object->point;
	else if (id == TEE_ATTR_ECC_PUBLIC_VALUE_Y)
		from = object->point + 32;
	for (; id != TEE_ATTR_SECRET_VALUE && bytes && !*from; bytes--)
		from++;
	check(*size >= bytes, "TEE_GetObjectBufferAttribute: output too short");
	shim_private(buffer, bytes, "TEE_GetObjectBufferAttribute to shared memory");
	memcpy(buffer, from, bytes);
	*size = bytes;
	return TEE_SUCCESS;
}

static bool operation_fits(uint32_t algorithm, uint32_t mode, uint32_t max_bits)
{
	switch (algorithm) {
	case TEE_ALG_AES_GCM:
		return mode <= TEE_MODE_DECRYPT && max_bits <= 256;
	case TEE_ALG_SHA256:
		return mode == TEE_MODE_DIGEST && !max_bits;
	case TEE_ALG_ECDSA_SHA256:
		return mode == TEE_MODE_VERIFY && max_bits == 256;
	case TEE_ALG_ECDH_DERIVE_SHARED_SECRET:
		return mode == TEE_MODE_DERIVE && max_bits == 256;
	default:
		return false;
	}
}

static void begin_hash(TEE_OperationHandle operation)
{
	if (EVP_DigestInit_ex(operation->hash, EVP_sha256(), NULL) != 1)
		abort();
}

TEE_Result TEE_AllocateOperation(TEE_OperationHandle *operation, uint32_t algorithm, uint32_t mode, uint32_t max_bits)
{
	if (!operation_fits(algorithm, mode, max_bits))
		return TEE_ERROR_NOT_SUPPORTED;
	*operation = calloc(1, sizeof(**operation));
	if (!*operation)
		return TEE_ERROR_OUT_OF_MEMORY;
	(*operation)->algorithm = algorithm;
	(*operation)->mode = mode;
	(*operation)->max_bits = max_bits;
	(*operation)->cipher = EVP_CIPHER_CTX_new();
	(*operation)->hash = EVP_MD_CTX_new();
	if (!(*operation)->cipher || !(*operation)->hash)
		abort();
	if (algorithm == TEE_ALG_SHA256)
		begin_hash(*operation);
	return TEE_SUCCESS;
}

void TEE_FreeOperation(TEE_OperationHandle operation)
{
	if (!operation)
		return;
	EVP_CIPHER_CTX_free(operation->cipher);
	EVP_MD_CTX_free(operation->hash);
	OPENSSL_cleanse(operation, sizeof(*operation));
	free(operation);
}

void TEE_ResetOperation(TEE_OperationHandle operation)
{
	check(operation && operation->keyed, "TEE_ResetOperation without a key");
	operation->begun = false;
}

static uint32_t type_of_key(uint32_t algorithm)
{
	switch (algorithm) {
	case TEE_ALG_AES_GCM:
		return TEE_TYPE_AES;
	case TEE_ALG_ECDSA_SHA256:
		return TEE_TYPE_ECDSA_PUBLIC_KEY;
	default:
		return TEE_TYPE_ECDH_KEYPAIR;
	}
}

TEE_Result TEE_SetOperationKey(TEE_OperationHandle operation, TEE_ObjectHandle key)
{
	check(operation && !operation->begun && operation->algorithm != TEE_ALG_SHA256,
	      "TEE_SetOperationKey in the middle");
	OPENSSL_cleanse(operation->key, sizeof(operation->key));
	operation->keyed = false;
	if (!key)
		return TEE_SUCCESS;
	check(key->key_bytes && key->key_bytes * 8 <= operation->max_bits &&
		      key->type == type_of_key(operation->algorithm),
	      "TEE_SetOperationKey: key");
	memcpy(operation->key, key->key, sizeof(operation->key));
	memcpy(operation->point, key->point, sizeof(operation->point));
	operation->key_bytes = key->key_bytes;
	operation->keyed = true;
	return TEE_SUCCESS;
}

void TEE_DigestUpdate(TEE_OperationHandle operation, const void *chunk, size_t bytes)
{
	check(operation && operation->algorithm == TEE_ALG_SHA256, "TEE_DigestUpdate: operation");
	shim_private(chunk, bytes, "TEE_DigestUpdate of shared memory");
	if (EVP_DigestUpdate(operation->hash, chunk, bytes) != 1)
		abort();
}

TEE_Result TEE_DigestDoFinal(TEE_OperationHandle operation, const void *chunk, size_t bytes, void *hash,
			     size_t *hash_bytes)
{
	TEE_DigestUpdate(operation, chunk, bytes);
	check(*hash_bytes >= 32, "TEE_DigestDoFinal: output too short");
	shim_private(hash, 32, "TEE_DigestDoFinal to shared memory");
	if (EVP_DigestFinal_ex(operation->hash, hash, NULL) != 1)
		abort();
	*hash_bytes = 32;
	begin_hash(operation);
	return TEE_SUCCESS;
}

void TEE_DeriveKey(TEE_OperationHandle operation, const TEE_Attribute *parameters, uint32_t count,
		   TEE_ObjectHandle derived)
{
	EVP_PKEY_CTX *context;
	EVP_PKEY *own;
	EVP_PKEY *other;
	uint8_t point[64];
	size_t bytes = 32;

	check(operation && operation->keyed && operation->mode == TEE_MODE_DERIVE, "TEE_DeriveKey: state");
	check(derived && derived->type == TEE_TYPE_GENERIC_SECRET && !derived->key_bytes, "TEE_DeriveKey: object");
	/* OP-TEE takes them in this order alone. */
	check(count == 2 && parameters[0].attributeID == TEE_ATTR_ECC_PUBLIC_VALUE_X, "TEE_DeriveKey: parameters");
	take_number(parameters, count, TEE_ATTR_ECC_PUBLIC_VALUE_X, point);
	take_number(parameters, count, TEE_ATTR_ECC_PUBLIC_VALUE_Y, point + 32);
	own = key_of(operation->point, operation->key);
	other = key_of(point, NULL);
	if (!own || !other) {
		EVP_PKEY_free(own);
		EVP_PKEY_free(other);
		shim_panic("TEE_DeriveKey: a point is not on the curve");
	}
	context = EVP_PKEY_CTX_new(own, NULL);
	if (!context || EVP_PKEY_derive_init(context) != 1 || EVP_PKEY_derive_set_peer(context, other) != 1 ||
	    EVP_PKEY_derive(context, derived->key, &bytes) != 1 || bytes != 32)
		abort();
	derived->key_bytes = bytes;
	EVP_PKEY_CTX_free(context);
	EVP_PKEY_free(own);
	EVP_PKEY_free(other);
}

/* In DER, or NULL: a number is zero, or not below the group's order. */
static uint8_t *encode(const uint8_t pair[64], int *bytes)
{
	static const char order_text[] = "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551";
	ECDSA_SIG *signature = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(pair, 32, NULL);
	BIGNUM *s = BN_bin2bn(pair + 32, 32, NULL);
	BIGNUM *order = NULL;
	uint8_t *encoded = NULL;
	bool good;

	if (!signature || !r || !s || !BN_hex2bn(&order, order_text))
		abort();
	good = !BN_is_zero(r) && !BN_is_zero(s) && BN_cmp(r, order) < 0 && BN_cmp(s, order) < 0;
	if (ECDSA_SIG_set0(signature, r, s) != 1)
		abort();
	if (good)
		*bytes = i2d_ECDSA_SIG(signature, &encoded);
	BN_free(order);
	ECDSA_SIG_free(signature);
	return encoded;
}

/* Any error but a wrong signature is a panic in OP-TEE; what its drivers make of numbers that no signature has is theirs. */
TEE_Result TEE_AsymmetricVerifyDigest(TEE_OperationHandle operation, const TEE_Attribute *parameters, uint32_t count,
				      const void *digest, size_t digest_bytes, const void *signature,
				      size_t signature_bytes)
{
	EVP_PKEY_CTX *context;
	uint8_t *encoded;
	EVP_PKEY *key;
	int bytes = 0;
	int good;

	check(operation && operation->keyed && operation->mode == TEE_MODE_VERIFY, "TEE_AsymmetricVerify...: state");
	check(!parameters && !count && digest_bytes == 32 && signature_bytes == 64,
	      "TEE_AsymmetricVerify...: parameters");
	shim_private(digest, digest_bytes, "TEE_AsymmetricVerifyDigest of shared memory");
	shim_private(signature, signature_bytes, "TEE_AsymmetricVerifyDigest of shared memory");
	encoded = encode(signature, &bytes);
	check(encoded, "TEE_AsymmetricVerify...: a number is out of its range");
	key = key_of(operation->point, NULL);
	if (!key) {
		OPENSSL_free(encoded);
		shim_panic("TEE_AsymmetricVerify...: the point is not on the curve");
	}
	context = EVP_PKEY_CTX_new(key, NULL);
	if (!context || EVP_PKEY_verify_init(context) != 1)
		abort();
	good = EVP_PKEY_verify(context, encoded, (size_t)bytes, digest, digest_bytes);
	EVP_PKEY_CTX_free(context);
	EVP_PKEY_free(key);
	OPENSSL_free(encoded);
	return good == 1 ? TEE_SUCCESS : TEE_ERROR_SIGNATURE_INVALID;
}

TEE_Result TEE_AEInit(TEE_OperationHandle operation, const void *nonce, size_t nonce_bytes, uint32_t tag_bits,
		      size_t aad_bytes, size_t payload_bytes)
{
	const EVP_CIPHER *cipher;

	(void)payload_bytes;
	check(operation && operation->keyed && !operation->begun && operation->algorithm == TEE_ALG_AES_GCM,
	      "TEE_AEInit: state");
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
