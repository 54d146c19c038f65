/* SPDX-License-Identifier: BSD-2-Clause */
/* SEAL, OPEN and REENCRYPT. What clients do with OpenSSL is what the TA must understand. */
#include "test.h"

static struct text message;
static struct text other;
static struct text plain;
static uint8_t content[KEYCACHE_PAYLOAD_BYTES];

static void fill(void)
{
	size_t at;

	for (at = 0; at < sizeof(content); at++)
		content[at] = (uint8_t)pick(256);
}

void test_messages(void)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 1000, KEYCACHE_PAYLOAD_BYTES };
	struct keycache_record sealed;
	uint8_t key[32];
	unsigned int i;
	size_t bytes;

	fill();
	make_key(1, key);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	for (bytes = 16; bytes <= 32; bytes += 16) {
		EXPECT(set("car", key, bytes, 0, &sealed), TEE_SUCCESS);
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			EXPECT(seal("car", NULL, content, sizes[i], &message), TEE_SUCCESS);
			CHECK(message.size == sizes[i] + KEYCACHE_EXTRA_BYTES);
			CHECK(client_open(key, bytes, &message, &plain));
			CHECK(plain.size == sizes[i] && !memcmp(plain.bytes, content, sizes[i]));

			client_seal(key, bytes, content, sizes[i], &message);
			EXPECT(open_message("car", NULL, &message, &plain), TEE_SUCCESS);
			CHECK(plain.size == sizes[i] && !memcmp(plain.bytes, content, sizes[i]));
		}
	}
	/* A message that finds no room leaves no text behind. */
	{
		char id[] = "car";
		uint8_t text[32];
		TEE_Param params[4] = { { .memref = { id, 3 } }, { .memref = { text, 32 } } };

		make_key(77, text);
		EXPECT(shim_invoke(KEYCACHE_SEAL, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_IN), params),
		       TEE_ERROR_SHORT_BUFFER);
		CHECK(!shim_static_has(text, sizeof(text)));
		memcpy(content, text, sizeof(text));
		CHECK(shim_static_has(text, sizeof(text)));
	}
}

void test_message_changes(void)
{
	struct keycache_record sealed;
	uint32_t hits;
	uint32_t whose;
	size_t at;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	EXPECT(set_number("van", 2, &sealed), TEE_SUCCESS);
	EXPECT(seal("car", NULL, "forty-two", 9, &message), TEE_SUCCESS);
	for (at = 0; at < message.size * 8; at++) {
		message.bytes[at / 8] ^= (uint8_t)(1 << at % 8);
		memset(plain.bytes, 0xaa, 100);
		EXPECT(open_message("car", NULL, &message, &plain), KEYCACHE_BAD_TAG);
		CHECK(plain.bytes[0] == 0xaa && !memcmp(plain.bytes, plain.bytes + 1, 99));
		memset(other.bytes, 0xaa, 100);
		EXPECT(reencrypt("car", NULL, "van", NULL, &message, &other, &hits, &whose), KEYCACHE_BAD_TAG);
		CHECK(other.bytes[0] == 0xaa && !memcmp(other.bytes, other.bytes + 1, 99));
		message.bytes[at / 8] ^= (uint8_t)(1 << at % 8);
	}
	message.size--;
	EXPECT(open_message("car", NULL, &message, &plain), KEYCACHE_BAD_TAG);
	message.size++;
	/* Another's key does not open it. */
	EXPECT(open_message("van", NULL, &message, &plain), KEYCACHE_BAD_TAG);
	EXPECT(open_message("car", NULL, &message, &plain), TEE_SUCCESS);
}

void test_nonces(void)
{
	static uint8_t seen[3000][KEYCACHE_NONCE_BYTES];
	struct keycache_record sealed;
	unsigned int count = 0;
	unsigned int i;
	unsigned int j;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	for (i = 0; i < 1000; i++) {
		EXPECT(seal("car", NULL, "same", 4, &message), TEE_SUCCESS);
		memcpy(seen[count++], message.bytes, KEYCACHE_NONCE_BYTES);
		EXPECT(record("car", &sealed), TEE_SUCCESS);
		memcpy(seen[count++], sealed.nonce, KEYCACHE_NONCE_BYTES);
	}
	for (i = 0; i < count; i++)
		for (j = 0; j < i; j++)
			if (!memcmp(seen[i], seen[j], KEYCACHE_NONCE_BYTES))
				CHECK(!"a nonce came twice");
}

void test_reencrypt(void)
{
	struct keycache_record from_record;
	struct keycache_record to_record;
	struct keycache_offer from;
	struct keycache_offer to;
	uint8_t from_key[32];
	uint8_t to_key[32];
	uint32_t hits;
	uint32_t whose;

	make_key(1, from_key);
	make_key(2, to_key);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set("car", from_key, 16, 0, &from_record), TEE_SUCCESS);
	EXPECT(set("van", to_key, 32, 0, &to_record), TEE_SUCCESS);
	from = offer_of(&from_record);
	to = offer_of(&to_record);

	client_seal(from_key, 16, "to the van", 10, &message);
	EXPECT(reencrypt("car", NULL, "van", NULL, &message, &other, &hits, &whose), TEE_SUCCESS);
	EXPECT(hits, 2);
	EXPECT(whose, 0);
	CHECK(other.size == message.size && memcmp(other.bytes, message.bytes, KEYCACHE_NONCE_BYTES) != 0);
	CHECK(client_open(to_key, 32, &other, &plain) && !memcmp(plain.bytes, "to the van", 10));
	CHECK(!client_open(from_key, 16, &other, &plain));

	EXPECT(evict("car"), TEE_SUCCESS);
	EXPECT(reencrypt("car", NULL, "van", NULL, &message, &other, &hits, &whose), KEYCACHE_MISS);
	EXPECT(whose, KEYCACHE_OF_FROM);
	EXPECT(evict("van"), TEE_SUCCESS);
	EXPECT(reencrypt("car", NULL, "van", NULL, &message, &other, &hits, &whose), KEYCACHE_MISS);
	EXPECT(whose, KEYCACHE_OF_FROM | KEYCACHE_OF_TO);
	EXPECT(reencrypt("car", &from, "van", NULL, &message, &other, &hits, &whose), KEYCACHE_MISS);
	EXPECT(whose, KEYCACHE_OF_TO);
	EXPECT(reencrypt("car", &from, "van", &from, &message, &other, &hits, &whose), KEYCACHE_FORGED);
	EXPECT(whose, KEYCACHE_OF_TO);
	EXPECT(reencrypt("car", &from, "van", &to, &message, &other, &hits, &whose), TEE_SUCCESS);
	EXPECT(hits, 1);
	CHECK(client_open(to_key, 32, &other, &plain) && !memcmp(plain.bytes, "to the van", 10));
	EXPECT(reencrypt("car", &from, "nobody", &to, &message, &other, &hits, &whose), KEYCACHE_NO_KEY);
	EXPECT(whose, KEYCACHE_OF_TO);
	EXPECT(reencrypt("nobody", &from, "no-one", &to, &message, &other, &hits, &whose), KEYCACHE_NO_KEY);
	EXPECT(whose, KEYCACHE_OF_FROM | KEYCACHE_OF_TO);
	/* To oneself: a fresh nonce. */
	EXPECT(reencrypt("car", &from, "car", &from, &message, &other, &hits, &whose), TEE_SUCCESS);
	CHECK(client_open(from_key, 16, &other, &plain) &&
	      memcmp(other.bytes, message.bytes, KEYCACHE_NONCE_BYTES) != 0);
}

/* A message of a million is counted, in secure storage; at the end the key opens, and seals no more. */
void test_worn_keys(void)
{
	enum { SPARE = 208, DRAWN = 32 };
	struct keycache_record sealed;
	struct keycache_offer offer;
	char object[16];
	uint8_t key[32];
	uint32_t hits;
	uint32_t whose;
	unsigned int i;
	unsigned int writes;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	EXPECT(set_number("van", 2, &sealed), TEE_SUCCESS);
	writes = shim_counts.writes;
	for (i = 0; i < 1000; i++)
		EXPECT(use("car", NULL), TEE_SUCCESS);
	/* Each was counted with a chance of 2^-20. */
	CHECK(shim_counts.writes <= writes + 1);
	shim_stop();
	(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of("car"));
	CHECK(bucket_of("car") != bucket_of("van"));
	/* 3,750 in all, each of them for a million. */
	forge("ree", object, SPARE, 3750 & 0xff);
	forge("ree", object, SPARE + 1, 3750 >> 8);
	for (i = 0; i < 2; i++) {
		start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
		EXPECT(record("car", &sealed), TEE_SUCCESS);
		shim_random_zeros(1);
		while (use("car", NULL) == TEE_SUCCESS && stats().slow_writes < 25)
			;
		shim_random_zeros(0);
		EXPECT(stats().slow_writes, 25);
		/* A reset loses nothing of the count. */
		shim_crash();
	}
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	make_key(1, key);
	client_seal(key, sizeof(key), "x", 1, &message);
	for (i = 0; i < 2; i++) {
		EXPECT(record("car", &sealed), TEE_SUCCESS);
		CHECK(sealed.flags & KEYCACHE_WORN);
		offer = offer_of(&sealed);
		EXPECT(use("car", &offer), KEYCACHE_WORN_OUT);
		EXPECT(evict("car"), TEE_SUCCESS);
		EXPECT(use("car", &offer), KEYCACHE_WORN_OUT);
		EXPECT(open_message("car", &offer, &message, &plain), TEE_SUCCESS);
		/* From it, and not to it. */
		EXPECT(record("van", &sealed), TEE_SUCCESS);
		EXPECT(reencrypt("car", NULL, "van", NULL, &message, &plain, &hits, &whose), TEE_SUCCESS);
		EXPECT(reencrypt("car", NULL, "car", NULL, &message, &plain, &hits, &whose), KEYCACHE_WORN_OUT);
		EXPECT(whose, KEYCACHE_OF_TO);
		shim_crash();
		start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	}
	EXPECT(set_number("car", 3, &sealed), TEE_SUCCESS);
	EXPECT(use("car", NULL), TEE_SUCCESS);
	/* A count that cannot be written: the message is not sealed. */
	shim_stop();
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(record("car", &sealed), TEE_SUCCESS);
	shim_random_zeros(1);
	shim_fail(1, TEE_ERROR_STORAGE_NOT_AVAILABLE, false);
	EXPECT(use("car", NULL), TEE_ERROR_STORAGE_NOT_AVAILABLE);
	shim_random_zeros(0);
}

void test_seal_key_is_replaced(void)
{
	struct keycache_record old;
	struct keycache_record last;
	struct keycache_offer offer;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("car", 1, &old), TEE_SUCCESS);
	shim_random_zeros(1);
	EXPECT(record("car", &last), TEE_SUCCESS);
	shim_random_zeros(0);
	offer = offer_of(&last);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	offer = offer_of(&old);
	EXPECT(use("car", &offer), KEYCACHE_FORGED);
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	offer = offer_of(&last);
	EXPECT(use("car", &offer), TEE_SUCCESS);
}

/* With an id, a zero and additional data in the id's place. */
static TEE_Result crypt_named(uint32_t command, const char *named, size_t bytes, const struct text *in,
			      struct text *out)
{
	TEE_Param params[4] = {
		{ .memref = { (void *)(uintptr_t)named, bytes } },
		{ .memref = { (void *)(uintptr_t)in->bytes, in->size } },
		{ .memref = { out->bytes, sizeof(out->bytes) } },
	};
	TEE_Result res = shim_invoke(command, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_IN), params);

	out->size = params[2].memref.size;
	return res;
}

void test_aad(void)
{
	static const size_t sizes[] = { 0, 1, 59, 60, 61, 62, 500, KEYCACHE_AAD_BYTES };
	static char named[KEYCACHE_ID_BYTES + 3 + KEYCACHE_AAD_BYTES];
	static struct text in = { .bytes = "text", .size = 4 };
	struct keycache_record sealed;
	uint8_t key[32];
	char longest[KEYCACHE_ID_BYTES + 1];
	unsigned int i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	memset(longest, 'l', KEYCACHE_ID_BYTES);
	longest[KEYCACHE_ID_BYTES] = 0;
	EXPECT(set_number(longest, 1, &sealed), TEE_SUCCESS);
	make_key(1, key);
	for (i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *id = i % 2 ? longest : "car";
		size_t begin = strlen(id) + 1;
		size_t bytes = sizes[i / 2];
		size_t at;

		(void)snprintf(named, sizeof(named), "%s", id);
		for (at = 0; at < bytes; at++)
			named[begin + at] = (char)(at * 7);
		EXPECT(crypt_named(KEYCACHE_SEAL, named, begin + bytes, &in, &message), TEE_SUCCESS);
		CHECK(client_open_aad(key, 32, named + begin, bytes, &message, &plain) &&
		      !memcmp(plain.bytes, "text", 4));
		EXPECT(crypt_named(KEYCACHE_OPEN, named, begin + bytes, &message, &plain), TEE_SUCCESS);
		CHECK(plain.size == 4 && !memcmp(plain.bytes, "text", 4));
		if (!bytes)
			continue;
		EXPECT(crypt_named(KEYCACHE_OPEN, named, begin + bytes - 1, &message, &plain), KEYCACHE_BAD_TAG);
		EXPECT(crypt_named(KEYCACHE_OPEN, named, begin - 1, &message, &plain), KEYCACHE_BAD_TAG);
		named[begin] ^= 1;
		EXPECT(crypt_named(KEYCACHE_OPEN, named, begin + bytes, &message, &plain), KEYCACHE_BAD_TAG);
	}
	EXPECT(crypt_named(KEYCACHE_SEAL, "car", 3, &in, &message), TEE_SUCCESS);
	EXPECT(crypt_named(KEYCACHE_SEAL, named, sizeof(named), &in, &other), TEE_ERROR_BAD_PARAMETERS);
	/* Room for the mark of a previous key does not make the rest longer. */
	EXPECT(crypt_named(KEYCACHE_SEAL, named, sizeof(named) - 1, &in, &other), TEE_ERROR_EXCESS_DATA);
	memcpy(named, "car", 4);
	EXPECT(crypt_named(KEYCACHE_SEAL, named, 5 + KEYCACHE_AAD_BYTES, &in, &other), TEE_ERROR_EXCESS_DATA);
	EXPECT(crypt_named(KEYCACHE_SEAL, "\0car", 4, &in, &other), TEE_ERROR_BAD_PARAMETERS);
	/* Only where there is a message. */
	{
		TEE_Param params[4] = { { .memref = { named, 8 } } };

		EXPECT(shim_invoke(KEYCACHE_EXISTS, TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), params),
		       TEE_ERROR_BAD_PARAMETERS);
	}
}
