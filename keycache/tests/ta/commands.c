/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's commands as functions, and what clients do with their keys. Nothing here knows where the TA runs. */
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>

#include "test.h"

static unsigned int failed;

void check(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	failed++;
	printf("%s:%d: not so: %s\n", file, line, what);
}

void expect(uint32_t actual, uint32_t expected, const char *what, const char *file, int line)
{
	if (actual == expected)
		return;
	failed++;
	printf("%s:%d: %s is 0x%x, not 0x%x\n", file, line, what, actual, expected);
}

unsigned int failures(void)
{
	return failed;
}

TEE_Result configure(enum keycache_storage storage, enum keycache_policy policy, uint32_t cache_bytes, uint32_t flags,
		     uint32_t index_bytes)
{
	TEE_Param params[4] = {
		{ .value = { storage, policy } },
		{ .value = { cache_bytes, flags } },
		{ .value = { index_bytes, 0 } },
	};

	return shim_invoke(KEYCACHE_CONFIGURE, TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_IN, NONE), params);
}

void make_key(unsigned int number, uint8_t key[32])
{
	unsigned int at;

	for (at = 0; at < 32; at++)
		key[at] = (uint8_t)((number * 2654435761u >> (at % 4 * 8)) + at * 7 + number);
}

static TEE_Param memory(const void *buffer, size_t size)
{
	return (TEE_Param){ .memref = { (void *)(uintptr_t)buffer, size } };
}

static TEE_Param id_param(const char *id)
{
	return memory(id, strlen(id));
}

static TEE_Param offer_param(const struct keycache_offer *offer)
{
	return memory(offer, offer ? sizeof(*offer) : 0);
}

struct keycache_offer offer_of(const struct keycache_record *sealed)
{
	return (struct keycache_offer){ .record = *sealed };
}

TEE_Result set(const char *id, const uint8_t *key, size_t bytes, uint32_t flags, struct keycache_record *sealed)
{
	TEE_Param params[4] = {
		id_param(id), memory(key, bytes), memory(sealed, sizeof(*sealed)), { .value = { flags, 0 } }
	};

	return shim_invoke(KEYCACHE_SET, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, VALUE_IN), params);
}

TEE_Result set_number(const char *id, unsigned int number, struct keycache_record *sealed)
{
	uint8_t key[32];

	make_key(number, key);
	return set(id, key, sizeof(key), 0, sealed);
}

TEE_Result get(const char *id, const struct keycache_offer *offer, uint8_t key[32], size_t *bytes)
{
	TEE_Param params[4] = { id_param(id), offer_param(offer), memory(key, 32) };
	TEE_Result res = shim_invoke(KEYCACHE_GET, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, NONE), params);

	*bytes = params[2].memref.size;
	return res;
}

static TEE_Result with_id(uint32_t command, const char *id)
{
	TEE_Param params[4] = { id_param(id) };

	return shim_invoke(command, TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), params);
}

TEE_Result delete(const char *id)
{
	return with_id(KEYCACHE_DELETE, id);
}

TEE_Result exists(const char *id)
{
	return with_id(KEYCACHE_EXISTS, id);
}

TEE_Result evict(const char *id)
{
	return with_id(KEYCACHE_EVICT, id);
}

TEE_Result seal(const char *id, const struct keycache_offer *offer, const void *plain, size_t bytes,
		struct text *message)
{
	TEE_Param params[4] = { id_param(id), memory(plain, bytes), memory(message->bytes, sizeof(message->bytes)),
				offer_param(offer) };
	TEE_Result res = shim_invoke(KEYCACHE_SEAL, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_IN),
				     params);

	message->size = params[2].memref.size;
	return res;
}

TEE_Result open_message(const char *id, const struct keycache_offer *offer, const struct text *message,
			struct text *plain)
{
	TEE_Param params[4] = { id_param(id), memory(message->bytes, message->size),
				memory(plain->bytes, sizeof(plain->bytes)), offer_param(offer) };
	TEE_Result res = shim_invoke(KEYCACHE_OPEN, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_IN),
				     params);

	plain->size = params[2].memref.size;
	return res;
}

/* An id as structs have it, a previous key's too. */
static uint8_t mark_and_length(uint8_t bytes[KEYCACHE_ID_BYTES], const char *id)
{
	const uint8_t mark = (uint8_t)id[0] == KEYCACHE_PREVIOUS ? KEYCACHE_PREVIOUS : 0;
	size_t length = strlen(id) - !!mark;

	memcpy(bytes, id + !!mark, length);
	return (uint8_t)(length | mark);
}

TEE_Result reencrypt(const char *from, const struct keycache_offer *from_offer, const char *to,
		     const struct keycache_offer *to_offer, const struct text *in, struct text *out, uint32_t *hits,
		     uint32_t *whose)
{
	struct keycache_pair pair = { 0 };
	TEE_Param params[4] = { memory(&pair, sizeof(pair)), memory(in->bytes, in->size),
				memory(out->bytes, sizeof(out->bytes)) };
	TEE_Result res;

	pair.from_length = mark_and_length(pair.from, from);
	pair.to_length = mark_and_length(pair.to, to);
	pair.has_from = from_offer != NULL;
	pair.has_to = to_offer != NULL;
	if (from_offer)
		pair.from_offer = *from_offer;
	if (to_offer)
		pair.to_offer = *to_offer;
	res = shim_invoke(KEYCACHE_REENCRYPT, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, VALUE_OUT), params);
	out->size = params[2].memref.size;
	*hits = params[3].value.a;
	*whose = params[3].value.b;
	return res;
}

TEE_Result load(const char *id, const struct keycache_offer *offer)
{
	TEE_Param params[4] = { id_param(id), offer_param(offer) };

	return shim_invoke(KEYCACHE_LOAD, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, NONE, NONE), params);
}

const char *previous(const char *id)
{
	static char names[4][1 + KEYCACHE_ID_BYTES + 1];
	static unsigned int next;
	char *text = names[next++ % 4];

	(void)snprintf(text, sizeof(names[0]), "\x80%s", id);
	return text;
}

TEE_Result set_as(const char *id, unsigned int number, uint32_t how, uint32_t restrictions,
		  struct keycache_record records[2], size_t *count)
{
	uint8_t key[32];
	TEE_Param params[4] = { id_param(id),
				memory(key, sizeof(key)),
				memory(records, 2 * sizeof(records[0])),
				{ .value = { how, restrictions } } };
	TEE_Result res;

	make_key(number, key);
	res = shim_invoke(KEYCACHE_SET, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, VALUE_IN), params);
	*count = params[2].memref.size / sizeof(records[0]);
	return res;
}

TEE_Result forget(const char *id)
{
	return with_id(KEYCACHE_FORGET, id);
}

TEE_Result generate(const char *id, uint32_t bytes, uint32_t restrictions, uint32_t how,
		    struct keycache_record records[2], size_t *count)
{
	TEE_Param params[4] = { id_param(id),
				{ .value = { bytes, restrictions } },
				memory(records, 2 * sizeof(records[0])),
				{ .value = { how, 0 } } };
	TEE_Result res = shim_invoke(KEYCACHE_GENERATE, TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, VALUE_IN),
				     params);

	*count = params[2].memref.size / sizeof(records[0]);
	return res;
}

struct keycache_identity identity(void)
{
	struct keycache_identity copy = { 0 };
	TEE_Param params[4] = { memory(&copy, sizeof(copy)) };

	EXPECT(shim_invoke(KEYCACHE_IDENTITY, TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), params), TEE_SUCCESS);
	return copy;
}

TEE_Result trust(const struct keycache_trust *statement)
{
	TEE_Param params[4] = { memory(statement, sizeof(*statement)) };

	return shim_invoke(KEYCACHE_TRUST, TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), params);
}

TEE_Result enrol(const struct keycache_enrolment *statement, uint32_t how, struct keycache_record records[2],
		 size_t *count, struct keycache_handover *handover, size_t *handover_bytes)
{
	TEE_Param params[4] = { memory(statement, sizeof(*statement)),
				{ .value = { how, 0 } },
				memory(records, 2 * sizeof(records[0])),
				memory(handover, sizeof(*handover)) };
	TEE_Result res = shim_invoke(KEYCACHE_ENROL, TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, MEMORY_OUT),
				     params);

	*count = params[2].memref.size / sizeof(records[0]);
	*handover_bytes = params[3].memref.size;
	return res;
}

TEE_Result backup(uint32_t *position, void *out, size_t *bytes)
{
	TEE_Param params[4] = { { .value = { *position, 0 } }, memory(out, *bytes) };
	TEE_Result res = shim_invoke(KEYCACHE_BACKUP, TEE_PARAM_TYPES(VALUE_INOUT, MEMORY_OUT, NONE, NONE), params);

	*position = params[0].value.a;
	*bytes = params[1].memref.size;
	return res;
}

TEE_Result record(const char *id, struct keycache_record *sealed)
{
	TEE_Param params[4] = { id_param(id), memory(sealed, sizeof(*sealed)) };

	return shim_invoke(KEYCACHE_RECORD, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, NONE, NONE), params);
}

TEE_Result list(uint32_t *position, char *ids, size_t *bytes)
{
	TEE_Param params[4] = { { .value = { *position, 0 } }, memory(ids, *bytes) };
	TEE_Result res = shim_invoke(KEYCACHE_LIST, TEE_PARAM_TYPES(VALUE_INOUT, MEMORY_OUT, NONE, NONE), params);

	*position = params[0].value.a;
	*bytes = params[1].memref.size;
	return res;
}

TEE_Result flush(void)
{
	TEE_Param params[4] = { 0 };

	return shim_invoke(KEYCACHE_FLUSH, TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), params);
}

TEE_Result repair(uint32_t *count)
{
	TEE_Param params[4] = { 0 };
	TEE_Result res = shim_invoke(KEYCACHE_REPAIR, TEE_PARAM_TYPES(VALUE_OUT, NONE, NONE, NONE), params);

	*count = params[0].value.a;
	return res;
}

struct keycache_stats stats(void)
{
	struct keycache_stats copy = { 0 };
	TEE_Param params[4] = { memory(&copy, sizeof(copy)) };

	EXPECT(shim_invoke(KEYCACHE_STATS, TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), params), TEE_SUCCESS);
	return copy;
}

TEE_Result use(const char *id, const struct keycache_offer *offer)
{
	static struct text message;

	return seal(id, offer, "x", 1, &message);
}

bool cached(const char *id)
{
	return use(id, NULL) == TEE_SUCCESS;
}

TEE_Result key_number(const char *id, unsigned int most, unsigned int *number)
{
	static struct text message;
	static struct text plain;
	struct keycache_record sealed;
	struct keycache_offer offer;
	uint8_t key[32];
	TEE_Result res = record(id, &sealed);

	*number = 0;
	if (res)
		return res;
	offer = offer_of(&sealed);
	res = seal(id, &offer, "which", 5, &message);
	if (res)
		return res;
	for (*number = most; *number; --*number) {
		make_key(*number, key);
		if (client_open(key, sizeof(key), &message, &plain))
			break;
	}
	return TEE_SUCCESS;
}

TEE_Result previous_number(const char *id, unsigned int most, unsigned int *number)
{
	static struct text message;
	static struct text plain;
	struct keycache_offer offer = { 0 };
	uint8_t key[32];
	TEE_Result res = record(previous(id), &offer.record);

	*number = 0;
	if (res)
		return res;
	for (*number = most; *number; --*number) {
		make_key(*number, key);
		client_seal(key, sizeof(key), "before", 6, &message);
		res = open_message(previous(id), &offer, &message, &plain);
		if (res != KEYCACHE_BAD_TAG)
			return res;
	}
	return TEE_SUCCESS;
}

void client_seal(const uint8_t *key, size_t key_bytes, const void *plain, size_t bytes, struct text *message)
{
	client_seal_aad(key, key_bytes, "", 0, plain, bytes, message);
}

void client_seal_aad(const uint8_t *key, size_t key_bytes, const void *aad, size_t aad_bytes, const void *plain,
		     size_t bytes, struct text *message)
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	uint8_t *body = message->bytes + KEYCACHE_NONCE_BYTES;
	int written;

	if (RAND_bytes(message->bytes, KEYCACHE_NONCE_BYTES) != 1 ||
	    EVP_EncryptInit_ex(cipher, key_bytes == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), NULL, key,
			       message->bytes) != 1 ||
	    (aad_bytes && EVP_EncryptUpdate(cipher, NULL, &written, aad, (int)aad_bytes) != 1) ||
	    (bytes && EVP_EncryptUpdate(cipher, body, &written, plain, (int)bytes) != 1) ||
	    EVP_EncryptFinal_ex(cipher, body + bytes, &written) != 1 ||
	    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, KEYCACHE_TAG_BYTES, body + bytes) != 1)
		abort();
	EVP_CIPHER_CTX_free(cipher);
	message->size = bytes + KEYCACHE_EXTRA_BYTES;
}

bool client_open(const uint8_t *key, size_t key_bytes, const struct text *message, struct text *plain)
{
	return client_open_aad(key, key_bytes, "", 0, message, plain);
}

bool client_open_aad(const uint8_t *key, size_t key_bytes, const void *aad, size_t aad_bytes,
		     const struct text *message, struct text *plain)
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	const uint8_t *body = message->bytes + KEYCACHE_NONCE_BYTES;
	uint8_t tag[KEYCACHE_TAG_BYTES];
	bool good;
	int written;

	plain->size = message->size - KEYCACHE_EXTRA_BYTES;
	memcpy(tag, body + plain->size, sizeof(tag));
	if (EVP_DecryptInit_ex(cipher, key_bytes == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), NULL, key,
			       message->bytes) != 1 ||
	    (aad_bytes && EVP_DecryptUpdate(cipher, NULL, &written, aad, (int)aad_bytes) != 1) ||
	    (plain->size && EVP_DecryptUpdate(cipher, plain->bytes, &written, body, (int)plain->size) != 1) ||
	    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, sizeof(tag), tag) != 1)
		abort();
	good = EVP_DecryptFinal_ex(cipher, plain->bytes + plain->size, &written) == 1;
	EVP_CIPHER_CTX_free(cipher);
	return good;
}
