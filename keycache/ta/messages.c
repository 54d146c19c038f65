/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nonces are random, 96 bits: a client's key is good for 2^32 messages that the TA seals with it (NIST SP 800-38D, 8.3). They are
 * counted (keys_count). The client's own nonces would count as well, if it has the key.
 */
#include "messages.h"

#include "gcm.h"

/* Nonces are drawn so many at a time: asking for random bytes costs OP-TEE's core much more than giving them. */
#define NONCES 32

static struct gcm sealing;
static struct gcm opening;
static uint8_t nonces[NONCES][KEYCACHE_NONCE_BYTES];
static uint32_t nonces_left;

TEE_Result messages_open(void)
{
	TEE_Result res = gcm_open(&sealing, TEE_MODE_ENCRYPT);

	if (!res)
		res = gcm_open(&opening, TEE_MODE_DECRYPT);
	if (res)
		messages_close();
	return res;
}

void messages_close(void)
{
	gcm_close(&sealing);
	gcm_close(&opening);
}

void messages_forget(void)
{
	gcm_clear_key(&sealing);
	gcm_clear_key(&opening);
}

static void draw(void)
{
	if (nonces_left)
		return;
	TEE_GenerateRandom(nonces, sizeof(nonces));
	nonces_left = NONCES;
}

bool messages_next_counts(void)
{
	const uint8_t *next;

	draw();
	next = nonces[nonces_left - 1];
	return !next[0] && !next[1] && next[2] < 16;
}

static void take_nonce(uint8_t *nonce)
{
	draw();
	nonces_left--;
	TEE_MemMove(nonce, nonces[nonces_left], KEYCACHE_NONCE_BYTES);
	wipe(nonces[nonces_left], KEYCACHE_NONCE_BYTES);
}

TEE_Result message_seal(const struct key *key, const struct aad *aad, const uint8_t *plain, size_t bytes,
			uint8_t *message)
{
	uint8_t *body = message + KEYCACHE_NONCE_BYTES;
	const struct gcm_frame frame = {
		.nonce = message, .tag = body + bytes, .aad = aad->bytes, .aad_bytes = aad->size
	};
	TEE_Result res = gcm_set_key(&sealing, key->bytes, key->length);

	if (res)
		return res;
	take_nonce(message);
	return gcm_encrypt(&sealing, &frame, plain, bytes, body);
}

TEE_Result message_open(const struct key *key, const struct aad *aad, const uint8_t *message, size_t bytes,
			uint8_t *plain)
{
	const uint8_t *body = message + KEYCACHE_NONCE_BYTES;
	uint8_t tag[KEYCACHE_TAG_BYTES];
	const struct gcm_frame frame = { .nonce = message, .tag = tag, .aad = aad->bytes, .aad_bytes = aad->size };
	TEE_Result res;

	if (bytes < KEYCACHE_EXTRA_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	bytes -= KEYCACHE_EXTRA_BYTES;
	TEE_MemMove(tag, body + bytes, sizeof(tag));
	res = gcm_set_key(&opening, key->bytes, key->length);
	if (!res)
		res = gcm_decrypt(&opening, &frame, body, bytes, plain);
	return res == TEE_ERROR_MAC_INVALID ? KEYCACHE_BAD_TAG : res;
}
