/* SPDX-License-Identifier: BSD-2-Clause */
/* What a key is for, previous keys, keys that the TA makes, and what is counted of them. */
#include "test.h"

static struct text message;
static struct text other;
static struct text plain;
static struct keycache_record records[2];
static size_t count;

static TEE_Result set_for(const char *id, unsigned int number, uint32_t restrictions)
{
	return set_as(id, number, 0, restrictions, records, &count);
}

static TEE_Result pass(const char *from, const char *to, uint32_t *whose)
{
	uint32_t hits;

	return reencrypt(from, NULL, to, NULL, &message, &other, &hits, whose);
}

void test_restrictions(void)
{
	static const struct {
		uint32_t restriction;
		/* SEAL, OPEN, GET, from, to: a key without any restriction on the other side. */
		bool denied[5];
	} rows[] = {
		{ 0, { false, false, false, false, false } },
		{ KEYCACHE_NO_SEAL, { true, false, false, false, false } },
		/* And as a sender: the other key could be opened. */
		{ KEYCACHE_NO_OPEN, { false, true, true, true, false } },
		{ KEYCACHE_NO_FROM, { false, false, false, true, false } },
		{ KEYCACHE_NO_TO, { false, false, false, false, true } },
		/* A message without a sender's name. */
		{ KEYCACHE_NAMED, { false, false, false, true, false } },
		{ KEYCACHE_RESTRICTIONS, { true, true, true, true, true } },
	};
	struct keycache_offer offer;
	uint8_t keys[2][32];
	uint8_t got[32];
	uint32_t whose;
	uint64_t denials;
	size_t bytes;
	unsigned int i;
	unsigned int life;

	make_key(1, keys[0]);
	make_key(2, keys[1]);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, KEYCACHE_ALLOW_GET);
	EXPECT(set_for("van", 2, 0), TEE_SUCCESS);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool *denied = rows[i].denied;

		EXPECT(set_for("car", 1, rows[i].restriction), TEE_SUCCESS);
		EXPECT(count, 1);
		EXPECT(records[0].flags & KEYCACHE_RESTRICTIONS, rows[i].restriction);
		/* Nobody can get a key that is not for OPEN: it does not even look so. */
		EXPECT(records[0].flags & KEYCACHE_GETTABLE,
		       rows[i].restriction & KEYCACHE_NO_OPEN ? 0 : KEYCACHE_GETTABLE);
		offer = offer_of(&records[0]);
		/* From the cache, from the record, from storage, and after a restart. */
		for (life = 0; life < 4; life++) {
			if (life == 3) {
				shim_crash();
				start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, KEYCACHE_ALLOW_GET);
				EXPECT(record("van", &records[1]), TEE_SUCCESS);
			}
			if (life >= 2)
				EXPECT(record("car", &records[0]), TEE_SUCCESS);
			if (life == 1)
				EXPECT(evict("car"), TEE_SUCCESS);
			denials = stats().use_denied;
			EXPECT(seal("car", &offer, "x", 1, &message), denied[0] ? KEYCACHE_USE_DENIED : TEE_SUCCESS);
			CHECK(!denied[0] || !message.size);
			client_seal(keys[0], 32, "x", 1, &message);
			EXPECT(open_message("car", NULL, &message, &plain),
			       denied[1] ? KEYCACHE_USE_DENIED : TEE_SUCCESS);
			EXPECT(get("car", NULL, got, &bytes), denied[2] ? KEYCACHE_USE_DENIED : TEE_SUCCESS);
			EXPECT(pass("car", "van", &whose), denied[3] ? KEYCACHE_USE_DENIED : TEE_SUCCESS);
			EXPECT(whose, !denied[3]                                ? 0
				      : rows[i].restriction == KEYCACHE_NO_OPEN ? KEYCACHE_OF_FROM | KEYCACHE_OF_TO
										: KEYCACHE_OF_FROM);
			client_seal(keys[1], 32, "x", 1, &message);
			EXPECT(pass("van", "car", &whose), denied[4] ? KEYCACHE_USE_DENIED : TEE_SUCCESS);
			EXPECT(whose, denied[4] ? KEYCACHE_OF_TO : 0);
			EXPECT(stats().use_denied - denials,
			       (uint64_t)(denied[0] + denied[1] + denied[2] + denied[3] + denied[4]));
		}
		/* Not by another flag in the record. */
		EXPECT(evict("car"), TEE_SUCCESS);
		offer.record.flags ^= KEYCACHE_NO_SEAL;
		EXPECT(seal("car", &offer, "x", 1, &message), KEYCACHE_FORGED);
	}
	/* GET can be left out for one key alone. */
	EXPECT(set_for("car", 1, KEYCACHE_NO_GET), TEE_SUCCESS);
	EXPECT(records[0].flags, 0);
	EXPECT(get("car", NULL, got, &bytes), KEYCACHE_GET_OFF);
	EXPECT(set_for("car", 1, KEYCACHE_NO_GET | KEYCACHE_NO_SEAL), TEE_SUCCESS);
	EXPECT(records[0].flags, KEYCACHE_NO_SEAL);
	/* The record of before a restriction is of another version. */
	EXPECT(set_for("car", 1, 0), TEE_SUCCESS);
	offer = offer_of(&records[0]);
	EXPECT(set_for("car", 1, KEYCACHE_NO_SEAL), TEE_SUCCESS);
	EXPECT(evict("car"), TEE_SUCCESS);
	EXPECT(seal("car", &offer, "x", 1, &message), KEYCACHE_STALE);
}

/* A key that is not for OPEN goes to keys alone that are not either, and that nobody can get. */
void test_no_way_down(void)
{
	static const struct {
		uint32_t from;
		uint32_t to;
		bool passes;
	} rows[] = {
		{ 0, 0, true },
		{ 0, KEYCACHE_NO_OPEN, true },
		{ KEYCACHE_NO_OPEN, 0, false },
		{ KEYCACHE_NO_OPEN, KEYCACHE_NO_SEAL | KEYCACHE_NO_FROM, false },
		{ KEYCACHE_NO_OPEN, KEYCACHE_NO_OPEN, true },
		{ KEYCACHE_NO_OPEN | KEYCACHE_NO_SEAL, KEYCACHE_NO_OPEN | KEYCACHE_NO_FROM, true },
	};
	uint8_t key[32];
	uint32_t whose;
	unsigned int i;
	unsigned int gettable;

	make_key(1, key);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	for (gettable = 0; gettable < 2; gettable++) {
		EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), gettable ? KEYCACHE_ALLOW_GET : 0, 0),
		       TEE_SUCCESS);
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			EXPECT(set_for("car", 1, rows[i].from), TEE_SUCCESS);
			EXPECT(set_for("van", 2, rows[i].to), TEE_SUCCESS);
			client_seal(key, 32, "x", 1, &message);
			EXPECT(pass("car", "van", &whose), rows[i].passes ? TEE_SUCCESS : KEYCACHE_USE_DENIED);
			EXPECT(whose, rows[i].passes ? 0 : KEYCACHE_OF_FROM | KEYCACHE_OF_TO);
			EXPECT(other.size, rows[i].passes ? message.size : 0);
		}
	}
}

/* "KC1" or "KC2", the length and the name of the very sender. */
void test_named(void)
{
	static const struct {
		const char *aad;
		size_t size;
		bool passes;
	} rows[] = {
		{ "", 0, false },
		{ "KC1", 3, false },
		{ "KC1\3", 4, false },
		{ "KC1\3ca", 6, false },
		{ "KC1\3car", 7, true },
		{ "KC2\3car", 7, true },
		{ "KC2\3carport", 11, true },
		{ "KC3\3car", 7, false },
		{ "kC1\3car", 7, false },
		{ "Kc1\3car", 7, false },
		{ "KC1\4cars", 8, false },
		{ "KC1\2car", 7, false },
		{ "KC1\3caR", 7, false },
		{ "KC1\3van", 7, false },
		{ " KC1\3car", 8, false },
	};
	struct keycache_pair pair = { .from_length = 3, .to_length = 3, .from = "car", .to = "van" };
	static uint8_t words[sizeof(pair) + 32];
	unsigned int i;
	unsigned int kept;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_for("van", 2, 0), TEE_SUCCESS);
	EXPECT(set_for("car", 1, KEYCACHE_NAMED), TEE_SUCCESS);
	for (kept = 0; kept < 2; kept++) {
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			TEE_Param params[4] = { { .memref = { words, sizeof(pair) + rows[i].size } },
						{ .memref = { message.bytes, 0 } },
						{ .memref = { other.bytes, sizeof(other.bytes) } } };
			uint8_t key[32];

			make_key(1, key);
			client_seal_aad(key, 32, rows[i].aad, rows[i].size, "x", 1, &message);
			params[1].memref.size = message.size;
			memcpy(words, &pair, sizeof(pair));
			memcpy(words + sizeof(pair), rows[i].aad, rows[i].size);
			EXPECT(shim_invoke(KEYCACHE_REENCRYPT,
					   TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, VALUE_OUT), params),
			       rows[i].passes ? TEE_SUCCESS : KEYCACHE_USE_DENIED);
			EXPECT(params[3].value.b, rows[i].passes ? 0 : KEYCACHE_OF_FROM);
		}
		/* The same of the key that was before. */
		EXPECT(set_as("car", 3, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
		EXPECT(load(previous("car"), &(struct keycache_offer){ .record = records[1] }), TEE_SUCCESS);
		pair.from_length |= KEYCACHE_PREVIOUS;
	}
}

static void expect_previous(const char *id, unsigned int due)
{
	unsigned int number;

	EXPECT(previous_number(id, 20, &number), due ? TEE_SUCCESS : KEYCACHE_NO_KEY);
	EXPECT(number, due);
}

static void check_ids(const char *only)
{
	char ids[4096];
	uint32_t position = 0;
	size_t bytes;
	unsigned int seen = 0;

	do {
		bytes = sizeof(ids);
		EXPECT(list(&position, ids, &bytes), TEE_SUCCESS);
		if (bytes)
			CHECK(bytes == strlen(only) + 1 && !strcmp(ids, only));
		seen += bytes != 0;
	} while (position);
	EXPECT(seen, 1);
}

void test_previous_keys(void)
{
	struct keycache_record first;
	struct keycache_offer offer;
	uint8_t key[32];
	uint32_t hits;
	uint32_t whose;
	unsigned int life;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(exists(previous("car")), KEYCACHE_NO_KEY);
	EXPECT(forget("car"), KEYCACHE_NO_KEY);
	/* Nothing is replaced: nothing is kept. */
	EXPECT(set_as("car", 1, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	EXPECT(count, 1);
	first = records[0];
	EXPECT(exists(previous("car")), KEYCACHE_NO_KEY);

	EXPECT(set_as("car", 2, KEYCACHE_KEEP, KEYCACHE_NO_SEAL, records, &count), TEE_SUCCESS);
	EXPECT(count, 2);
	EXPECT(records[0].id_length, 3);
	EXPECT(records[1].id_length, 3 | KEYCACHE_PREVIOUS);
	EXPECT(records[0].flags, KEYCACHE_NO_SEAL);
	EXPECT(records[1].flags, 0);
	CHECK(records[1].version > first.version && records[0].version > records[1].version);
	/* Neither place takes the other place's record. */
	offer = offer_of(&records[0]);
	EXPECT(load(previous("car"), &offer), KEYCACHE_FORGED);
	offer = offer_of(&first);
	EXPECT(load(previous("car"), &offer), KEYCACHE_FORGED);
	EXPECT(evict("car"), TEE_SUCCESS);
	EXPECT(load("car", &offer), KEYCACHE_STALE);
	offer = offer_of(&records[1]);
	EXPECT(load("car", &offer), KEYCACHE_FORGED);
	EXPECT(load(previous("car"), &offer), TEE_SUCCESS);

	make_key(1, key);
	for (life = 0; life < 2; life++) {
		EXPECT(exists(previous("car")), TEE_SUCCESS);
		EXPECT(stats().clients, 1);
		EXPECT(stats().previous, 1);
		check_ids("car");
		expect_previous("car", 1);
		/* As a sender, to a current key. */
		client_seal(key, 32, "before", 6, &message);
		EXPECT(record("car", &records[0]), TEE_SUCCESS);
		EXPECT(reencrypt(previous("car"), NULL, "car", NULL, &message, &other, &hits, &whose), TEE_SUCCESS);
		EXPECT(reencrypt("car", NULL, previous("car"), NULL, &other, &plain, &hits, &whose),
		       TEE_ERROR_BAD_PARAMETERS);
		shim_crash();
		start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	}
	/* Kept once more: the one before goes; not kept: it stays. */
	EXPECT(set_as("car", 3, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	EXPECT(count, 2);
	expect_previous("car", 2);
	/* The same key once more, as after an answer that was lost: it is not the one before itself. */
	EXPECT(set_as("car", 3, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	EXPECT(count, 1);
	expect_previous("car", 2);
	EXPECT(set_as("car", 4, 0, 0, records, &count), TEE_SUCCESS);
	EXPECT(count, 1);
	expect_previous("car", 2);
	/* What waits is kept as well. */
	EXPECT(set_as("car", 5, KEYCACHE_RELAXED, 0, records, &count), TEE_SUCCESS);
	EXPECT(set_as("car", 6, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	EXPECT(stats().waiting, 0);
	expect_previous("car", 5);
	EXPECT(evict(previous("car")), TEE_SUCCESS);

	offer = offer_of(&records[1]);
	EXPECT(load(previous("car"), &offer), TEE_SUCCESS);
	EXPECT(forget("car"), TEE_SUCCESS);
	EXPECT(forget("car"), KEYCACHE_NO_KEY);
	EXPECT(open_message(previous("car"), NULL, &message, &plain), KEYCACHE_NO_KEY);
	EXPECT(load(previous("car"), &offer), KEYCACHE_NO_KEY);
	EXPECT(exists("car"), TEE_SUCCESS);
	EXPECT(stats().previous, 0);
	/* A record of before does not come back with the next previous key. */
	EXPECT(set_as("car", 7, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	EXPECT(load(previous("car"), &offer), KEYCACHE_STALE);
	expect_previous("car", 6);
	EXPECT(delete("car"), TEE_SUCCESS);
	EXPECT(exists(previous("car")), KEYCACHE_NO_KEY);
	EXPECT(open_message(previous("car"), NULL, &message, &plain), KEYCACHE_NO_KEY);
	EXPECT(stats().clients, 0);
	EXPECT(stats().previous, 0);
	/* The host's policy can name one as a victim. */
	EXPECT(set_number("van", 1, &first), TEE_SUCCESS);
	EXPECT(set_as("car", 1, 0, 0, records, &count), TEE_SUCCESS);
	EXPECT(set_as("car", 2, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_HOST, bytes_for(1), 0, 0), TEE_SUCCESS);
	offer = offer_of(&records[1]);
	EXPECT(load(previous("car"), &offer), TEE_SUCCESS);
	offer = offer_of(&first);
	memcpy(offer.victim, "car", 3);
	offer.victim_length = 3;
	EXPECT(load("van", &offer), KEYCACHE_FULL);
	offer.victim_length |= KEYCACHE_PREVIOUS;
	EXPECT(load("van", &offer), TEE_SUCCESS);
	/* Without room for one more place nothing changes. */
	shim_fail(1, TEE_ERROR_STORAGE_NO_SPACE, false);
	EXPECT(set_as("van", 9, KEYCACHE_KEEP, 0, records, &count), TEE_ERROR_STORAGE_NO_SPACE);
	expect_previous("van", 0);
	shim_fail(2, TEE_ERROR_STORAGE_NO_SPACE, false);
	EXPECT(set_as("van", 9, KEYCACHE_KEEP, 0, records, &count), TEE_ERROR_STORAGE_NO_SPACE);
	/* The key twice, which does no harm. */
	expect_previous("van", 1);
}

void test_generate(void)
{
	struct keycache_offer offer;
	uint8_t key[32] = { 0 };
	uint8_t got[32];
	size_t bytes;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, KEYCACHE_ALLOW_GET);
	EXPECT(generate("car", 32, KEYCACHE_NO_FROM, 0, records, &count), TEE_SUCCESS);
	EXPECT(count, 1);
	/* Nobody gets it, although GET is on. */
	EXPECT(records[0].flags, KEYCACHE_NO_FROM);
	EXPECT(get("car", NULL, got, &bytes), KEYCACHE_GET_OFF);
	EXPECT(seal("car", NULL, "made", 4, &message), TEE_SUCCESS);
	CHECK(!client_open(key, 32, &message, &plain));
	EXPECT(open_message("car", NULL, &message, &plain), TEE_SUCCESS);
	/* And another one each time. */
	EXPECT(generate("car", 16, 0, KEYCACHE_KEEP, records, &count), TEE_SUCCESS);
	EXPECT(count, 2);
	EXPECT(records[0].key_length, 16);
	EXPECT(open_message("car", NULL, &message, &plain), KEYCACHE_BAD_TAG);
	offer = offer_of(&records[1]);
	EXPECT(open_message(previous("car"), &offer, &message, &plain), TEE_SUCCESS);
	EXPECT(forget("car"), TEE_SUCCESS);
	EXPECT(generate("car", 32, 0, 0, records, &count), TEE_SUCCESS);
	EXPECT(open_message("car", NULL, &message, &plain), KEYCACHE_BAD_TAG);
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	offer = offer_of(&records[0]);
	EXPECT(use("car", &offer), TEE_SUCCESS);
}

/* What is counted is so after each change, and after a restart. */
void test_stats(void)
{
	enum { COUNTED = 208 };
	struct keycache_stats now;
	char object[16];
	unsigned int i;
	unsigned int life;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	for (i = 0; i < 40; i++)
		EXPECT(set_number(name(i), i, &records[0]), TEE_SUCCESS);
	for (i = 0; i < 10; i++)
		EXPECT(set_as(name(i), 50 + i, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	for (i = 0; i < 3; i++)
		EXPECT(forget(name(i)), TEE_SUCCESS);
	EXPECT(delete(name(3)), TEE_SUCCESS);
	for (life = 0; life < 2; life++) {
		now = stats();
		EXPECT(now.clients, 39);
		EXPECT(now.previous, 6);
		EXPECT(now.enrolled, 0);
		EXPECT(now.wearing, 0);
		EXPECT(now.worn, 0);
		shim_stop();
		if (!life)
			start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	}
	/* 2,850 of 3,800. */
	remove_storage(folder());
	for (i = 2849; i < 2851; i++) {
		start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
		EXPECT(set_number("car", 1, &records[0]), TEE_SUCCESS);
		shim_stop();
		(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of("car"));
		forge("ree", object, COUNTED, i & 0xff);
		forge("ree", object, COUNTED + 1, (uint8_t)(i >> 8));
		start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
		EXPECT(stats().wearing, i == 2850);
		EXPECT(stats().worn, 0);
		shim_stop();
	}
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(stats().wearing, 1);
	EXPECT(set_number("car", 2, &records[0]), TEE_SUCCESS);
	EXPECT(stats().wearing, 0);
}
