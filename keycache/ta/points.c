/* SPDX-License-Identifier: BSD-2-Clause */
#include "points.h"

#include "curve.h"
#include "gcm.h"

#define P256_BITS 256
#define HALF (KEYCACHE_POINT_BYTES / 2)

static const uint8_t mark_nonce[KEYCACHE_NONCE_BYTES] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
static TEE_OperationHandle hashing;
static TEE_OperationHandle deriving;
static TEE_OperationHandle verifying;
static TEE_ObjectHandle own;    /* a pair */
static TEE_ObjectHandle signer; /* a point */
static TEE_ObjectHandle shared; /* Z */
static struct gcm sealing;
static struct gcm opening;

TEE_Result points_open(void)
{
	TEE_Result res = TEE_AllocateOperation(&hashing, TEE_ALG_SHA256, TEE_MODE_DIGEST, 0);

	if (!res)
		res = TEE_AllocateOperation(&deriving, TEE_ALG_ECDH_DERIVE_SHARED_SECRET, TEE_MODE_DERIVE, P256_BITS);
	if (!res)
		res = TEE_AllocateOperation(&verifying, TEE_ALG_ECDSA_SHA256, TEE_MODE_VERIFY, P256_BITS);
	if (!res)
		res = TEE_AllocateTransientObject(TEE_TYPE_ECDH_KEYPAIR, P256_BITS, &own);
	if (!res)
		res = TEE_AllocateTransientObject(TEE_TYPE_ECDSA_PUBLIC_KEY, P256_BITS, &signer);
	if (!res)
		res = TEE_AllocateTransientObject(TEE_TYPE_GENERIC_SECRET, P256_BITS, &shared);
	if (!res)
		res = gcm_open(&sealing, TEE_MODE_ENCRYPT);
	if (!res)
		res = gcm_open(&opening, TEE_MODE_DECRYPT);
	if (res)
		points_close();
	return res;
}

void points_close(void)
{
	/* All of these take a null handle for nothing to do. */
	TEE_FreeOperation(hashing);
	TEE_FreeOperation(deriving);
	TEE_FreeOperation(verifying);
	TEE_FreeTransientObject(own);
	TEE_FreeTransientObject(signer);
	TEE_FreeTransientObject(shared);
	hashing = TEE_HANDLE_NULL;
	deriving = TEE_HANDLE_NULL;
	verifying = TEE_HANDLE_NULL;
	own = TEE_HANDLE_NULL;
	signer = TEE_HANDLE_NULL;
	shared = TEE_HANDLE_NULL;
	gcm_close(&sealing);
	gcm_close(&opening);
}

void digest(const void *bytes, size_t size, uint8_t out[DIGEST_BYTES])
{
	size_t written = DIGEST_BYTES;

	/* It has no other error than a panic, with room for a digest. */
	(void)TEE_DigestDoFinal(hashing, bytes, size, out, &written);
}

/* A number of 32 bytes, however many leading zeros the API leaves out. */
static TEE_Result get_number(TEE_ObjectHandle object, uint32_t attribute, uint8_t out[HALF])
{
	size_t size = HALF;
	TEE_Result res = TEE_GetObjectBufferAttribute(object, attribute, out, &size);

	if (res)
		return res;
	TEE_MemMove(out + HALF - size, out, size);
	TEE_MemFill(out, 0, HALF - size);
	return TEE_SUCCESS;
}

TEE_Result point_make(struct pair *pair)
{
	TEE_Attribute curve;
	TEE_Result res;

	TEE_InitValueAttribute(&curve, TEE_ATTR_ECC_CURVE, TEE_ECC_CURVE_NIST_P256, 0);
	res = TEE_GenerateKey(own, P256_BITS, &curve, 1);
	if (!res)
		res = get_number(own, TEE_ATTR_ECC_PRIVATE_VALUE, pair->secret);
	if (!res)
		res = get_number(own, TEE_ATTR_ECC_PUBLIC_VALUE_X, pair->point);
	if (!res)
		res = get_number(own, TEE_ATTR_ECC_PUBLIC_VALUE_Y, pair->point + HALF);
	TEE_ResetTransientObject(own);
	if (res)
		wipe(pair, sizeof(*pair));
	return res;
}

/* The two attributes of a point. */
static void describe(TEE_Attribute attributes[2], const uint8_t point[KEYCACHE_POINT_BYTES])
{
	TEE_InitRefAttribute(&attributes[0], TEE_ATTR_ECC_PUBLIC_VALUE_X, (void *)(uintptr_t)point, HALF);
	TEE_InitRefAttribute(&attributes[1], TEE_ATTR_ECC_PUBLIC_VALUE_Y, (void *)(uintptr_t)(point + HALF), HALF);
}

TEE_Result point_agree(const struct pair *pair, const uint8_t point[KEYCACHE_POINT_BYTES], uint8_t z[DIGEST_BYTES])
{
	TEE_Attribute attributes[4];
	TEE_Result res;

	describe(attributes, pair->point);
	TEE_InitRefAttribute(&attributes[2], TEE_ATTR_ECC_PRIVATE_VALUE, (void *)(uintptr_t)pair->secret, SECRET_BYTES);
	TEE_InitValueAttribute(&attributes[3], TEE_ATTR_ECC_CURVE, TEE_ECC_CURVE_NIST_P256, 0);
	res = TEE_PopulateTransientObject(own, attributes, 4);
	if (!res)
		res = TEE_SetOperationKey(deriving, own);
	if (!res) {
		describe(attributes, point);
		TEE_DeriveKey(deriving, attributes, 2, shared);
		res = get_number(shared, TEE_ATTR_SECRET_VALUE, z);
	}
	/* Without a key it has nothing to fail. */
	(void)TEE_SetOperationKey(deriving, TEE_HANDLE_NULL);
	TEE_ResetTransientObject(own);
	TEE_ResetTransientObject(shared);
	return res;
}

void point_key(const uint8_t *z, size_t z_bytes, const void *info, size_t info_bytes, uint8_t key[DIGEST_BYTES])
{
	static const uint8_t counter[4] = { 0, 0, 0, 1 };

	TEE_DigestUpdate(hashing, counter, sizeof(counter));
	TEE_DigestUpdate(hashing, z, z_bytes);
	digest(info, info_bytes, key);
}

TEE_Result point_verify(const uint8_t who[KEYCACHE_POINT_BYTES], const void *statement, size_t bytes,
			const uint8_t signature[KEYCACHE_SIGNATURE_BYTES])
{
	TEE_Attribute attributes[3];
	uint8_t hash[DIGEST_BYTES];
	TEE_Result res;

	if (!curve_may_sign(signature))
		return KEYCACHE_UNTRUSTED;
	digest(statement, bytes, hash);
	describe(attributes, who);
	TEE_InitValueAttribute(&attributes[2], TEE_ATTR_ECC_CURVE, TEE_ECC_CURVE_NIST_P256, 0);
	res = TEE_PopulateTransientObject(signer, attributes, 3);
	if (!res)
		res = TEE_SetOperationKey(verifying, signer);
	if (!res)
		res = TEE_AsymmetricVerifyDigest(verifying, NULL, 0, hash, sizeof(hash), signature,
						 KEYCACHE_SIGNATURE_BYTES);
	TEE_ResetTransientObject(signer);
	return res == TEE_ERROR_SIGNATURE_INVALID ? KEYCACHE_UNTRUSTED : res;
}

static TEE_Result seal_bytes(const uint8_t with[DIGEST_BYTES], const struct gcm_frame *frame, const void *in,
			     size_t bytes, void *out)
{
	TEE_Result res = gcm_set_key(&sealing, with, DIGEST_BYTES);

	if (!res)
		res = gcm_encrypt(&sealing, frame, in, bytes, out);
	gcm_clear_key(&sealing);
	return res;
}

TEE_Result point_seal(const uint8_t with[DIGEST_BYTES], const struct sealed_key *sealed,
		      const uint8_t key[KEYCACHE_KEY_BYTES])
{
	const struct gcm_frame frame = {
		.nonce = sealed->nonce, .tag = sealed->tag, .aad = sealed->aad, .aad_bytes = sealed->aad_bytes
	};

	return seal_bytes(with, &frame, key, KEYCACHE_KEY_BYTES, sealed->bytes);
}

TEE_Result point_mark(const uint8_t with[DIGEST_BYTES], const void *aad, size_t aad_bytes,
		      uint8_t tag[KEYCACHE_TAG_BYTES])
{
	const struct gcm_frame frame = { .nonce = mark_nonce, .tag = tag, .aad = aad, .aad_bytes = aad_bytes };
	uint8_t nothing = 0;

	return seal_bytes(with, &frame, &nothing, 0, &nothing);
}

TEE_Result point_unseal(const uint8_t with[DIGEST_BYTES], const struct sealed_key *sealed,
			uint8_t key[KEYCACHE_KEY_BYTES])
{
	const struct gcm_frame frame = {
		.nonce = sealed->nonce, .tag = sealed->tag, .aad = sealed->aad, .aad_bytes = sealed->aad_bytes
	};
	TEE_Result res = gcm_set_key(&opening, with, DIGEST_BYTES);

	if (!res)
		res = gcm_decrypt(&opening, &frame, sealed->bytes, KEYCACHE_KEY_BYTES, key);
	gcm_clear_key(&opening);
	return res == TEE_ERROR_MAC_INVALID ? KEYCACHE_FORGED : res;
}
