/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OP-TEE's core by the GlobalPlatform API. Key and operations are kept in the session, as a service would keep them.
 *
 * What the API answers to wrong input is often to panic the TA: TEE_DeriveKey for a peer that is not on the curve or has
 * a low order, and verifying with a public key that is not on the curve. A TA that takes these from outside must look at
 * them first, so this one does, and what it takes is part of what is measured in ECDH. OP-TEE's Ed25519 accepts any S,
 * which RFC 8032, section 5.1.7, does not: that is looked at here too.
 */
#include <string.h>

#include "engine.h"

#define BITS 256

#if OPS_CURVE == OPS_CURVE_SECP256R1
#define PAIR_TYPE TEE_TYPE_ECDSA_KEYPAIR
#define PUBLIC_TYPE TEE_TYPE_ECDSA_PUBLIC_KEY
#define SIGN_ALGORITHM TEE_ALG_ECDSA_SHA256
#define AGREE_TYPE TEE_TYPE_ECDH_KEYPAIR
#define AGREE_ALGORITHM TEE_ALG_ECDH_DERIVE_SHARED_SECRET
#elif OPS_CURVE == OPS_CURVE_ED25519
#define PAIR_TYPE TEE_TYPE_ED25519_KEYPAIR
#define PUBLIC_TYPE TEE_TYPE_ED25519_PUBLIC_KEY
#define SIGN_ALGORITHM TEE_ALG_ED25519
#elif OPS_CURVE == OPS_CURVE_X25519
#define PAIR_TYPE TEE_TYPE_X25519_KEYPAIR
#define AGREE_TYPE TEE_TYPE_X25519_KEYPAIR
#define AGREE_ALGORITHM TEE_ALG_X25519
#elif OPS_CURVE != OPS_CURVE_NONE
#error "no such curve in this file: add its names in GlobalPlatform's API"
#endif /* OPS_CURVE */

const char ops_name[] = "optee";

struct engine {
	TEE_ObjectHandle secret;
	TEE_OperationHandle sign;
	TEE_OperationHandle verify;
	TEE_OperationHandle agree;
	TEE_OperationHandle digest;
};

/* All of these take TEE_HANDLE_NULL. */
static void close_engine(struct engine *e)
{
	TEE_FreeOperation(e->sign);
	TEE_FreeOperation(e->verify);
	TEE_FreeOperation(e->agree);
	TEE_FreeOperation(e->digest);
	TEE_FreeTransientObject(e->secret);
	TEE_MemFill(e, 0, sizeof(*e));
}

TEE_Result engine_new(struct engine **engine)
{
	*engine = TEE_Malloc(sizeof(**engine), TEE_MALLOC_FILL_ZERO);
	return *engine ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

void engine_free(struct engine *engine)
{
	if (engine)
		close_engine(engine);
	TEE_Free(engine);
}

TEE_Result engine_random(bool from_tee)
{
	/* The core draws its own. */
	return from_tee ? TEE_SUCCESS : TEE_ERROR_NOT_SUPPORTED;
}

#if OPS_CURVE == OPS_CURVE_NONE || OPS_CURVE == OPS_CURVE_SECP256R1
static TEE_Result hash(struct engine *e, const uint8_t *message, size_t length, uint8_t digest[32])
{
	size_t size = 32;
	TEE_Result res = TEE_SUCCESS;

	if (!e->digest)
		res = TEE_AllocateOperation(&e->digest, TEE_ALG_SHA256, TEE_MODE_DIGEST, 0);
	if (!res)
		res = TEE_DigestDoFinal(e->digest, message, length, digest, &size);
	return res;
}
#endif /* OPS_CURVE_NONE, OPS_CURVE_SECP256R1 */

#if OPS_CURVE == OPS_CURVE_NONE

TEE_Result engine_keygen(struct engine *engine, uint8_t private_key[OPS_PRIVATE_BYTES],
			 uint8_t public_key[OPS_PUBLIC_BYTES])
{
	(void)engine;
	(void)private_key;
	(void)public_key;
	return TEE_ERROR_NOT_SUPPORTED;
}

TEE_Result engine_digest(struct engine *engine, const uint8_t *message, size_t length, uint8_t digest[32])
{
	return hash(engine, message, length, digest);
}

/* For the known answers. */
int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	struct engine e = { 0 };
	TEE_Result res = hash(&e, message, length, digest);

	close_engine(&e);
	return (int)res;
}

#else

TEE_Result engine_digest(struct engine *engine, const uint8_t *message, size_t length, uint8_t digest[32])
{
	(void)engine;
	(void)message;
	(void)length;
	(void)digest;
	return TEE_ERROR_NOT_SUPPORTED;
}

/* --- keys --- */

/* A number or an octet string of an object, however many leading zeros the API left out. */
static TEE_Result get_attribute(TEE_ObjectHandle object, uint32_t attribute, uint8_t out[OPS_BYTES])
{
	size_t size = OPS_BYTES;
	TEE_Result res = TEE_GetObjectBufferAttribute(object, attribute, out, &size);

	if (res)
		return res;
	TEE_MemMove(out + OPS_BYTES - size, out, size);
	TEE_MemFill(out, 0, OPS_BYTES - size);
	return TEE_SUCCESS;
}

/* The attributes of a key: the public ones, and before them the private one if there is one. Returns how many. */
static uint32_t set_attributes(TEE_Attribute attributes[4], const uint8_t *private_key, const uint8_t *public_key)
{
	uint32_t count = 0;

#if OPS_CURVE == OPS_CURVE_SECP256R1
	if (private_key)
		TEE_InitRefAttribute(&attributes[count++], TEE_ATTR_ECC_PRIVATE_VALUE, (void *)(uintptr_t)private_key,
				     OPS_BYTES);
	TEE_InitRefAttribute(&attributes[count++], TEE_ATTR_ECC_PUBLIC_VALUE_X, (void *)(uintptr_t)public_key,
			     OPS_BYTES);
	TEE_InitRefAttribute(&attributes[count++], TEE_ATTR_ECC_PUBLIC_VALUE_Y,
			     (void *)(uintptr_t)(public_key + OPS_BYTES), OPS_BYTES);
	TEE_InitValueAttribute(&attributes[count++], TEE_ATTR_ECC_CURVE, TEE_ECC_CURVE_NIST_P256, 0);
#elif OPS_CURVE == OPS_CURVE_ED25519
	if (private_key)
		TEE_InitRefAttribute(&attributes[count++], TEE_ATTR_ED25519_PRIVATE_VALUE,
				     (void *)(uintptr_t)private_key, OPS_BYTES);
	TEE_InitRefAttribute(&attributes[count++], TEE_ATTR_ED25519_PUBLIC_VALUE, (void *)(uintptr_t)public_key,
			     OPS_BYTES);
#else
	TEE_InitRefAttribute(&attributes[count++], TEE_ATTR_X25519_PRIVATE_VALUE, (void *)(uintptr_t)private_key,
			     OPS_BYTES);
	TEE_InitRefAttribute(&attributes[count++], TEE_ATTR_X25519_PUBLIC_VALUE, (void *)(uintptr_t)public_key,
			     OPS_BYTES);
#endif /* OPS_CURVE */
	return count;
}

static TEE_Result make_object(uint32_t type, const uint8_t *private_key, const uint8_t *public_key,
			      TEE_ObjectHandle *object)
{
	TEE_Attribute attributes[4];
	uint32_t count = set_attributes(attributes, private_key, public_key);
	TEE_Result res = TEE_AllocateTransientObject(type, BITS, object);

	return res ? res : TEE_PopulateTransientObject(*object, attributes, count);
}

/* An operation that has a key of its own, a copy. */
static TEE_Result make_operation(uint32_t algorithm, uint32_t mode, uint32_t type, const uint8_t *private_key,
				 const uint8_t *public_key, TEE_OperationHandle *operation)
{
	TEE_ObjectHandle key = TEE_HANDLE_NULL;
	TEE_Result res;

	TEE_FreeOperation(*operation);
	*operation = TEE_HANDLE_NULL;
	res = TEE_AllocateOperation(operation, algorithm, mode, BITS);
	if (!res)
		res = make_object(type, private_key, public_key, &key);
	if (!res)
		res = TEE_SetOperationKey(*operation, key);
	TEE_FreeTransientObject(key);
	return res;
}

static TEE_Result use_key(struct engine *e, const uint8_t *private_key, const uint8_t *public_key)
{
	TEE_Result res = TEE_SUCCESS;

#ifdef SIGN_ALGORITHM
	if (private_key)
		res = make_operation(SIGN_ALGORITHM, TEE_MODE_SIGN, PAIR_TYPE, private_key, public_key, &e->sign);
	if (!res)
		res = make_operation(SIGN_ALGORITHM, TEE_MODE_VERIFY, PUBLIC_TYPE, NULL, public_key, &e->verify);
#endif /* SIGN_ALGORITHM */
#ifdef AGREE_ALGORITHM
	if (!res && private_key)
		res = make_operation(AGREE_ALGORITHM, TEE_MODE_DERIVE, AGREE_TYPE, private_key, public_key, &e->agree);
	if (!res && !e->secret)
		res = TEE_AllocateTransientObject(TEE_TYPE_GENERIC_SECRET, BITS, &e->secret);
#endif /* AGREE_ALGORITHM */
	return res;
}

TEE_Result engine_keygen(struct engine *engine, uint8_t private_key[OPS_PRIVATE_BYTES],
			 uint8_t public_key[OPS_PUBLIC_BYTES])
{
	TEE_ObjectHandle pair = TEE_HANDLE_NULL;
	TEE_Result res = TEE_AllocateTransientObject(PAIR_TYPE, BITS, &pair);

#if OPS_CURVE == OPS_CURVE_SECP256R1
	TEE_Attribute curve;

	TEE_InitValueAttribute(&curve, TEE_ATTR_ECC_CURVE, TEE_ECC_CURVE_NIST_P256, 0);
	if (!res)
		res = TEE_GenerateKey(pair, BITS, &curve, 1);
	if (!res)
		res = get_attribute(pair, TEE_ATTR_ECC_PUBLIC_VALUE_X, public_key);
	if (!res)
		res = get_attribute(pair, TEE_ATTR_ECC_PUBLIC_VALUE_Y, public_key + OPS_BYTES);
	if (!res)
		res = get_attribute(pair, TEE_ATTR_ECC_PRIVATE_VALUE, private_key);
#elif OPS_CURVE == OPS_CURVE_ED25519
	if (!res)
		res = TEE_GenerateKey(pair, BITS, NULL, 0);
	if (!res)
		res = get_attribute(pair, TEE_ATTR_ED25519_PUBLIC_VALUE, public_key);
	if (!res)
		res = get_attribute(pair, TEE_ATTR_ED25519_PRIVATE_VALUE, private_key);
#else
	if (!res)
		res = TEE_GenerateKey(pair, BITS, NULL, 0);
	if (!res)
		res = get_attribute(pair, TEE_ATTR_X25519_PUBLIC_VALUE, public_key);
	if (!res)
		res = get_attribute(pair, TEE_ATTR_X25519_PRIVATE_VALUE, private_key);
#endif /* OPS_CURVE */
	TEE_FreeTransientObject(pair);
	return res ? res : use_key(engine, private_key, public_key);
}

#endif /* OPS_CURVE_NONE */

/* --- points --- */

#if OPS_CURVE == OPS_CURVE_SECP256R1

typedef TEE_BigInt number[TEE_BigIntSizeInU32(BITS)];

static void read_number(number out, const uint8_t bytes[OPS_BYTES])
{
	TEE_BigIntInit(out, TEE_BigIntSizeInU32(BITS));
	/* Always fits. */
	(void)TEE_BigIntConvertFromOctetString(out, bytes, OPS_BYTES, 0);
}

/* Whether y^2 = x^3 - 3x + b, both below p: SEC 1, section 3.2.2.1. The cofactor is 1. */
static bool on_curve(const uint8_t public_key[OPS_PUBLIC_BYTES])
{
	static const uint8_t p_bytes[OPS_BYTES] = {
		0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	static const uint8_t b_bytes[OPS_BYTES] = {
		0x5a, 0xc6, 0x35, 0xd8, 0xaa, 0x3a, 0x93, 0xe7, 0xb3, 0xeb, 0xbd, 0x55, 0x76, 0x98, 0x86, 0xbc,
		0x65, 0x1d, 0x06, 0xb0, 0xcc, 0x53, 0xb0, 0xf6, 0x3b, 0xce, 0x3c, 0x3e, 0x27, 0xd2, 0x60, 0x4b,
	};
	static const uint8_t three_bytes[OPS_BYTES] = { [OPS_BYTES - 1] = 3 };
	number p, b, x, y, three, right;

	read_number(p, p_bytes);
	read_number(b, b_bytes);
	read_number(three, three_bytes);
	read_number(x, public_key);
	read_number(y, public_key + OPS_BYTES);
	read_number(right, public_key);
	if (TEE_BigIntCmp(x, p) >= 0 || TEE_BigIntCmp(y, p) >= 0)
		return false;
	/* (x^2 - 3) x + b */
	TEE_BigIntMulMod(right, x, x, p);
	TEE_BigIntSubMod(right, right, three, p);
	TEE_BigIntMulMod(right, right, x, p);
	TEE_BigIntAddMod(right, right, b, p);
	TEE_BigIntMulMod(y, y, y, p);
	return !TEE_BigIntCmp(y, right);
}

#define VALID_PEER(peer) on_curve(peer)

/* What the API says of the range of r and s is enough. */
static bool in_range(const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	(void)signature;
	return true;
}

#elif OPS_CURVE == OPS_CURVE_ED25519

/* Whether S is below the group's order; it is public. */
static bool in_range(const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	static const uint8_t order[32] = { 0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,       0xd6,
					   0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10 };
	const uint8_t *s = signature + 32;

	for (int i = 31; i >= 0; i--)
		if (s[i] != order[i])
			return s[i] < order[i];
	return false;
}

#define on_curve(public_key) true

#elif OPS_CURVE == OPS_CURVE_X25519

/* The points of low order, 0 and 1 and two of order 8, and -1, and p and p + 1, which stand for 0 and 1. */
static bool has_order(const uint8_t peer[OPS_PUBLIC_BYTES])
{
	static const uint8_t low[][OPS_PUBLIC_BYTES] = {
		{ 0 },
		{ 1 },
		{
			0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
			0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
		},
		{
			0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
			0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
		},
		{
			0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
		},
		{
			0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
		},
		{
			0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
		},
	};
	uint8_t masked[OPS_PUBLIC_BYTES];

	/* RFC 7748 has the last bit ignored. */
	TEE_MemMove(masked, peer, sizeof(masked));
	masked[OPS_PUBLIC_BYTES - 1] &= 0x7f;
	for (size_t i = 0; i < sizeof(low) / sizeof(low[0]); i++)
		if (!memcmp(masked, low[i], sizeof(masked)))
			return false;
	return true;
}

#define VALID_PEER(peer) has_order(peer)

#endif /* OPS_CURVE */

/* --- operations --- */

TEE_Result engine_sign(struct engine *engine, const uint8_t *message, size_t length,
		       uint8_t signature[OPS_SIGNATURE_BYTES])
{
#ifdef SIGN_ALGORITHM
	size_t size = OPS_SIGNATURE_BYTES;
#if OPS_CURVE == OPS_CURVE_SECP256R1
	uint8_t digest[32];
	TEE_Result res = hash(engine, message, length, digest);

	return res ? res : TEE_AsymmetricSignDigest(engine->sign, NULL, 0, digest, sizeof(digest), signature, &size);
#else
	return TEE_AsymmetricSignDigest(engine->sign, NULL, 0, message, length, signature, &size);
#endif /* OPS_CURVE_SECP256R1 */
#else
	(void)engine;
	(void)message;
	(void)length;
	(void)signature;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* SIGN_ALGORITHM */
}

TEE_Result engine_verify(struct engine *engine, const uint8_t *message, size_t length,
			 const uint8_t signature[OPS_SIGNATURE_BYTES])
{
#ifdef SIGN_ALGORITHM
	if (!in_range(signature))
		return TEE_ERROR_SIGNATURE_INVALID;
#if OPS_CURVE == OPS_CURVE_SECP256R1
	uint8_t digest[32];
	TEE_Result res = hash(engine, message, length, digest);

	return res ? res
		   : TEE_AsymmetricVerifyDigest(engine->verify, NULL, 0, digest, sizeof(digest), signature,
						OPS_SIGNATURE_BYTES);
#else
	return TEE_AsymmetricVerifyDigest(engine->verify, NULL, 0, message, length, signature, OPS_SIGNATURE_BYTES);
#endif /* OPS_CURVE_SECP256R1 */
#else
	(void)engine;
	(void)message;
	(void)length;
	(void)signature;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* SIGN_ALGORITHM */
}

TEE_Result engine_ecdh(struct engine *engine, const uint8_t peer[OPS_PUBLIC_BYTES], uint8_t secret[OPS_SECRET_BYTES])
{
#ifdef AGREE_ALGORITHM
	TEE_Attribute attributes[2];

	if (!VALID_PEER(peer))
		return TEE_ERROR_BAD_PARAMETERS;
#if OPS_CURVE == OPS_CURVE_SECP256R1
	TEE_InitRefAttribute(&attributes[0], TEE_ATTR_ECC_PUBLIC_VALUE_X, (void *)(uintptr_t)peer, OPS_BYTES);
	TEE_InitRefAttribute(&attributes[1], TEE_ATTR_ECC_PUBLIC_VALUE_Y, (void *)(uintptr_t)(peer + OPS_BYTES),
			     OPS_BYTES);
	TEE_ResetTransientObject(engine->secret);
	TEE_DeriveKey(engine->agree, attributes, 2, engine->secret);
#else
	TEE_InitRefAttribute(&attributes[0], TEE_ATTR_X25519_PUBLIC_VALUE, (void *)(uintptr_t)peer, OPS_BYTES);
	TEE_ResetTransientObject(engine->secret);
	TEE_DeriveKey(engine->agree, attributes, 1, engine->secret);
#endif /* OPS_CURVE_SECP256R1 */
	return get_attribute(engine->secret, TEE_ATTR_SECRET_VALUE, secret);
#else
	(void)engine;
	(void)peer;
	(void)secret;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* AGREE_ALGORITHM */
}

/* --- for the known answers: a key that is there for one call --- */

#ifdef SIGN_ALGORITHM
int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	struct engine e = { 0 };
	TEE_Result res = use_key(&e, private_key, public_key);

	if (!res)
		res = engine_sign(&e, message, length, signature);
	close_engine(&e);
	return (int)res;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	struct engine e = { 0 };
	TEE_Result res;

	if (!on_curve(public_key))
		return 1;
	res = use_key(&e, NULL, public_key);
	if (!res)
		res = engine_verify(&e, message, length, signature);
	close_engine(&e);
	return res == TEE_ERROR_SIGNATURE_INVALID ? 1 : (int)res;
}
#endif /* SIGN_ALGORITHM */

#ifdef AGREE_ALGORITHM
int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	struct engine e = { 0 };
	/* An object has to have a public key as well; nothing is done with it. */
	TEE_Result res = use_key(&e, private_key, peer);

	if (!res)
		res = engine_ecdh(&e, peer, secret);
	close_engine(&e);
	return (int)res;
}
#endif /* AGREE_ALGORITHM */
