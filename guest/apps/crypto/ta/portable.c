/* SPDX-License-Identifier: BSD-2-Clause */
/* A portable implementation in the TA. OP-TEE's cryptography takes no part, but for random bytes where they are asked for. */
#include "engine.h"

/* guest/operations/random.c's, which is compiled under this name here. */
void frame_random(uint8_t *bytes, size_t length);

struct engine {
	uint8_t private_key[OPS_PRIVATE_BYTES];
	uint8_t public_key[OPS_PUBLIC_BYTES];
};

static bool random_from_tee;

void ops_random(uint8_t *bytes, size_t length)
{
	if (random_from_tee)
		TEE_GenerateRandom(bytes, length);
	else
		frame_random(bytes, length);
}

TEE_Result engine_random(bool from_tee)
{
	random_from_tee = from_tee;
	return TEE_SUCCESS;
}

TEE_Result engine_new(struct engine **engine)
{
	static bool opened;

	/* The library is the instance's, whatever number of sessions it has. */
	if (!opened && ops_open())
		return TEE_ERROR_GENERIC;
	opened = true;
	*engine = TEE_Malloc(sizeof(**engine), TEE_MALLOC_FILL_ZERO);
	return *engine ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

void engine_free(struct engine *engine)
{
	TEE_Free(engine);
}

TEE_Result engine_keygen(struct engine *engine, uint8_t private_key[OPS_PRIVATE_BYTES],
			 uint8_t public_key[OPS_PUBLIC_BYTES])
{
#if OPS_CURVE != OPS_CURVE_NONE
	if (ops_keygen(engine->private_key, engine->public_key))
		return TEE_ERROR_GENERIC;
	TEE_MemMove(private_key, engine->private_key, OPS_PRIVATE_BYTES);
	TEE_MemMove(public_key, engine->public_key, OPS_PUBLIC_BYTES);
	return TEE_SUCCESS;
#else
	(void)engine;
	(void)private_key;
	(void)public_key;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* OPS_CURVE_NONE */
}

TEE_Result engine_sign(struct engine *engine, const uint8_t *message, size_t length,
		       uint8_t signature[OPS_SIGNATURE_BYTES])
{
#if FRAME_HAS_SIGN
	return ops_sign(engine->private_key, engine->public_key, message, length, signature) ? TEE_ERROR_GENERIC
											     : TEE_SUCCESS;
#else
	(void)engine;
	(void)message;
	(void)length;
	(void)signature;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* FRAME_HAS_SIGN */
}

TEE_Result engine_verify(struct engine *engine, const uint8_t *message, size_t length,
			 const uint8_t signature[OPS_SIGNATURE_BYTES])
{
#if FRAME_HAS_SIGN
	int result = ops_verify(engine->public_key, message, length, signature);

	return !result ? TEE_SUCCESS : result == 1 ? TEE_ERROR_SIGNATURE_INVALID : TEE_ERROR_GENERIC;
#else
	(void)engine;
	(void)message;
	(void)length;
	(void)signature;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* FRAME_HAS_SIGN */
}

TEE_Result engine_ecdh(struct engine *engine, const uint8_t peer[OPS_PUBLIC_BYTES], uint8_t secret[OPS_SECRET_BYTES])
{
#if FRAME_HAS_ECDH
	/* Libraries do not tell what is wrong; with a key of our own it can only be the peer. */
	return ops_ecdh(engine->private_key, peer, secret) ? TEE_ERROR_BAD_PARAMETERS : TEE_SUCCESS;
#else
	(void)engine;
	(void)peer;
	(void)secret;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* FRAME_HAS_ECDH */
}

TEE_Result engine_digest(struct engine *engine, const uint8_t *message, size_t length, uint8_t digest[32])
{
	(void)engine;
#if FRAME_HAS_SHA256
	return ops_sha256(message, length, digest) ? TEE_ERROR_GENERIC : TEE_SUCCESS;
#else
	(void)message;
	(void)length;
	(void)digest;
	return TEE_ERROR_NOT_SUPPORTED;
#endif /* FRAME_HAS_SHA256 */
}
