/* SPDX-License-Identifier: BSD-2-Clause */
#include "clients.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "server.h"

#define NONCE_BYTES 12
#define TAG_BYTES (KEYCACHE_OVERHEAD - NONCE_BYTES)
/* Keys set between two signs of life. */
#define SIGN_OF_LIFE 500

void clients_name(uint32_t client, char name[CLIENTS_NAME_BYTES])
{
	(void)snprintf(name, CLIENTS_NAME_BYTES, CLIENTS_PREFIX "%0*" PRIu32, CLIENTS_DIGITS, client);
}

/* Another one for each client, that is all that matters here. */
static void key_of(uint32_t client, uint8_t key[CLIENTS_KEY_BYTES])
{
	for (uint32_t i = 0; i < CLIENTS_KEY_BYTES; i++)
		key[i] = (uint8_t)((client + 1) >> (i % 4 * 8)) ^ (uint8_t)(0x5a + i);
}

void clients_set(struct keycache *admin, uint32_t count, const char *measure)
{
	char name[CLIENTS_NAME_BYTES];
	uint8_t key[CLIENTS_KEY_BYTES];

	for (uint32_t client = 0; client < count; client++) {
		clients_name(client, name);
		key_of(client, key);
		server_must(keycache_set(admin, name, key, sizeof(key)), admin, "SET", client);
		if (client % SIGN_OF_LIFE == SIGN_OF_LIFE - 1)
			bench_record_check("keys-set", measure, 1);
	}
}

void clients_check_key(uint32_t client, const uint8_t *key, size_t size)
{
	uint8_t expected[CLIENTS_KEY_BYTES];

	key_of(client, expected);
	if (size != sizeof(expected) || memcmp(key, expected, size) != 0)
		bench_fail("client %" PRIu32 " gets a key that is not its own", client);
}

void clients_check(uint32_t client, const uint8_t *message, size_t message_size, const void *plain, size_t plain_size)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	/* Written to by no one: the call has its type from before there was const. */
	void *tag = (void *)(uintptr_t)(message + message_size - TAG_BYTES);
	uint8_t opened[KEYCACHE_MOST];
	uint8_t key[CLIENTS_KEY_BYTES];
	int size = 0;
	int rest = 0;

	key_of(client, key);
	if (message_size != plain_size + KEYCACHE_OVERHEAD)
		bench_fail("a message has %zu bytes, its text %zu", message_size, plain_size);
	if (!context || EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), NULL, key, message) != 1 ||
	    EVP_DecryptUpdate(context, opened, &size, message + NONCE_BYTES, (int)plain_size) != 1 ||
	    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) != 1 ||
	    EVP_DecryptFinal_ex(context, opened + size, &rest) != 1 || (size_t)size != plain_size ||
	    memcmp(opened, plain, plain_size) != 0)
		bench_fail("a message does not open under the key of client %" PRIu32, client);
	EVP_CIPHER_CTX_free(context);
}
