/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Payloads of a broker that relays what it cannot read: "KC1" or "KC2", the sender's length and name, nonce, ciphertext, tag. What
 * stands before the nonce is additional data; with KC2 the topic follows there, which the payload does not have.
 */
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

#include "keycache.h"

#define MAGIC "KC1"
#define MAGIC_TOPIC "KC2"
#define MAGIC_BYTES 3u
#define HEAD_BYTES (MAGIC_BYTES + 1)
#define NONCE_BYTES 12u
#define TAG_BYTES 16u

static bool is_name(const char *text, size_t size)
{
	if (!size || size > KEYCACHE_NAME)
		return false;
	for (size_t i = 0; i < size; i++)
		if (text[i] < '!' || text[i] > '~')
			return false;
	return true;
}

bool keycache_payload_read(struct keycache_payload *payload, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	bool has_topic;
	size_t rest;

	if (size < HEAD_BYTES || size - HEAD_BYTES < at[MAGIC_BYTES])
		return false;
	has_topic = !memcmp(at, MAGIC_TOPIC, MAGIC_BYTES);
	if (!has_topic && memcmp(at, MAGIC, MAGIC_BYTES) != 0)
		return false;
	rest = size - HEAD_BYTES - at[MAGIC_BYTES];
	*payload = (struct keycache_payload){ .has_topic = has_topic,
					      .head = bytes,
					      .head_size = size - rest,
					      .sender = (const char *)at + HEAD_BYTES,
					      .sender_size = at[MAGIC_BYTES],
					      .message = at + HEAD_BYTES + at[MAGIC_BYTES],
					      .message_size = rest };
	return is_name(payload->sender, payload->sender_size) && rest >= KEYCACHE_OVERHEAD &&
	       rest <= KEYCACHE_MOST + KEYCACHE_OVERHEAD;
}

size_t keycache_payload_aad(const struct keycache_payload *payload, const char *topic, void *aad)
{
	size_t topic_size = payload->has_topic ? strlen(topic) : 0;

	if (topic_size > KEYCACHE_MOST_TOPIC)
		return 0;
	memcpy(aad, payload->head, payload->head_size);
	if (topic_size)
		memcpy((char *)aad + payload->head_size, topic, topic_size);
	return payload->head_size + topic_size;
}

static const EVP_CIPHER *cipher_of(size_t key_size)
{
	if (key_size == 16)
		return EVP_aes_128_gcm();
	return key_size == 32 ? EVP_aes_256_gcm() : NULL;
}

static bool encrypt(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *aad,
		    size_t aad_size, uint8_t *message, const void *plain, int size)
{
	uint8_t *body = message + NONCE_BYTES;
	int written = 0;

	return RAND_bytes(message, NONCE_BYTES) == 1 && EVP_EncryptInit_ex2(context, cipher, key, message, NULL) == 1 &&
	       EVP_EncryptUpdate(context, NULL, &written, aad, (int)aad_size) == 1 &&
	       (!size || EVP_EncryptUpdate(context, body, &written, plain, size) == 1) &&
	       EVP_EncryptFinal_ex(context, body + size, &written) == 1 &&
	       EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, body + size) == 1;
}

static bool decrypt(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *aad,
		    size_t aad_size, const uint8_t *message, uint8_t *plain, int size)
{
	const uint8_t *body = message + NONCE_BYTES;
	uint8_t tag[TAG_BYTES];
	int written = 0;

	memcpy(tag, body + size, sizeof(tag));
	return EVP_DecryptInit_ex2(context, cipher, key, message, NULL) == 1 &&
	       EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag) == 1 &&
	       EVP_DecryptUpdate(context, NULL, &written, aad, (int)aad_size) == 1 &&
	       (!size || EVP_DecryptUpdate(context, plain, &written, body, size) == 1) &&
	       EVP_DecryptFinal_ex(context, plain + size, &written) == 1;
}

/* A topic of NULL: the format without one. */
static enum keycache_error seal(const char *sender, const char *topic, const void *key, size_t key_size,
				const void *plain, size_t plain_size, void *out, size_t *size)
{
	size_t name_size = strlen(sender);
	size_t due = HEAD_BYTES + name_size + KEYCACHE_OVERHEAD + plain_size;
	const EVP_CIPHER *cipher = cipher_of(key_size);
	struct keycache_payload payload = { .has_topic = topic != NULL,
					    .head = out,
					    .head_size = HEAD_BYTES + name_size };
	uint8_t aad[KEYCACHE_MOST_AAD];
	size_t aad_size;
	EVP_CIPHER_CTX *context;
	uint8_t *at = out;
	bool good;

	if (!is_name(sender, name_size) || !cipher || plain_size > KEYCACHE_MOST ||
	    (topic && strlen(topic) > KEYCACHE_MOST_TOPIC))
		return KEYCACHE_ARGUMENT;
	if (*size < due)
		return KEYCACHE_NO_SPACE;
	context = EVP_CIPHER_CTX_new();
	if (!context)
		return KEYCACHE_ARGUMENT;
	memcpy(at, topic ? MAGIC_TOPIC : MAGIC, MAGIC_BYTES);
	at[MAGIC_BYTES] = (uint8_t)name_size;
	memcpy(at + HEAD_BYTES, sender, name_size);
	aad_size = keycache_payload_aad(&payload, topic, aad);
	good = encrypt(context, cipher, key, aad, aad_size, at + HEAD_BYTES + name_size, plain, (int)plain_size);
	EVP_CIPHER_CTX_free(context);
	*size = due;
	return good ? KEYCACHE_OK : KEYCACHE_ARGUMENT;
}

static enum keycache_error open_payload(const char *topic, const void *key, size_t key_size, const void *bytes,
					size_t bytes_size, void *plain, size_t *size)
{
	const EVP_CIPHER *cipher = cipher_of(key_size);
	struct keycache_payload payload;
	uint8_t aad[KEYCACHE_MOST_AAD];
	size_t aad_size;
	EVP_CIPHER_CTX *context;
	size_t due;
	bool good;

	if (!cipher || !keycache_payload_read(&payload, bytes, bytes_size) || payload.has_topic != (topic != NULL))
		return KEYCACHE_ARGUMENT;
	aad_size = keycache_payload_aad(&payload, topic, aad);
	if (!aad_size)
		return KEYCACHE_ARGUMENT;
	due = payload.message_size - KEYCACHE_OVERHEAD;
	if (*size < due)
		return KEYCACHE_NO_SPACE;
	context = EVP_CIPHER_CTX_new();
	if (!context)
		return KEYCACHE_ARGUMENT;
	good = decrypt(context, cipher, key, aad, aad_size, payload.message, plain, (int)due);
	EVP_CIPHER_CTX_free(context);
	if (!good && due)
		OPENSSL_cleanse(plain, due);
	*size = good ? due : 0;
	return good ? KEYCACHE_OK : KEYCACHE_NOT_GENUINE;
}

enum keycache_error keycache_payload_seal(const char *sender, const void *key, size_t key_size, const void *plain,
					  size_t plain_size, void *out, size_t *size)
{
	return seal(sender, NULL, key, key_size, plain, plain_size, out, size);
}

enum keycache_error keycache_payload_seal_topic(const char *sender, const char *topic, const void *key, size_t key_size,
						const void *plain, size_t plain_size, void *out, size_t *size)
{
	return seal(sender, topic, key, key_size, plain, plain_size, out, size);
}

enum keycache_error keycache_payload_open(const void *key, size_t key_size, const void *bytes, size_t bytes_size,
					  void *plain, size_t *size)
{
	return open_payload(NULL, key, key_size, bytes, bytes_size, plain, size);
}

enum keycache_error keycache_payload_open_topic(const char *topic, const void *key, size_t key_size, const void *bytes,
						size_t bytes_size, void *plain, size_t *size)
{
	return open_payload(topic, key, key_size, bytes, bytes_size, plain, size);
}
