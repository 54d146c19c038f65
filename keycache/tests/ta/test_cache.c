/* SPDX-License-Identifier: BSD-2-Clause */
/* Records, what is kept under which policy, and bounds. */
#include <stdlib.h>

#include "test.h"

static struct keycache_record records[600];
static struct keycache_offer offer;

static const struct keycache_offer *offered(unsigned int number)
{
	offer = offer_of(&records[number]);
	return &offer;
}

void test_records(void)
{
	struct keycache_record first;
	struct keycache_record second;
	struct keycache_record rpmb;
	uint8_t key[32];

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("car", 1, &first), TEE_SUCCESS);
	EXPECT(set_number("van", 2, &records[1]), TEE_SUCCESS);
	EXPECT(use("car", NULL), KEYCACHE_MISS);
	offer = offer_of(&first);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	EXPECT(use("van", &offer), KEYCACHE_FORGED);
	make_key(1, key);
	CHECK(!memmem(&first, sizeof(first), key, 4));

	EXPECT(set_number("car", 3, &second), TEE_SUCCESS);
	EXPECT(use("car", &offer), KEYCACHE_STALE);
	/* Nor with the new version written into it, nor with the new one's body. */
	offer.record.version = second.version;
	EXPECT(use("car", &offer), KEYCACHE_FORGED);
	offer = offer_of(&second);
	memcpy(offer.record.sealed, first.sealed, sizeof(first.sealed));
	EXPECT(use("car", &offer), KEYCACHE_FORGED);
	offer = offer_of(&second);
	EXPECT(use("car", &offer), TEE_SUCCESS);

	/* A client that was removed and comes again does not get its old keys back. */
	EXPECT(delete("car"), TEE_SUCCESS);
	EXPECT(use("car", &offer), KEYCACHE_NO_KEY);
	EXPECT(set_number("car", 4, &records[0]), TEE_SUCCESS);
	EXPECT(use("car", &offer), KEYCACHE_STALE);
	offer = offer_of(&first);
	EXPECT(use("car", &offer), KEYCACHE_STALE);
	EXPECT(stats().stale, 3);
	EXPECT(stats().forged, 3);

	/* What a record of the one storage says is nothing in the other. */
	EXPECT(configure(KEYCACHE_RPMB, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_SUCCESS);
	EXPECT(use("car", offered(0)), KEYCACHE_NO_KEY);
	EXPECT(set_number("car", 5, &rpmb), TEE_SUCCESS);
	offer.record.version = rpmb.version;
	EXPECT(use("car", &offer), KEYCACHE_FORGED);
}

void test_record_changes(void)
{
	static const char *names[] = { "car", "caR" };
	struct keycache_record sealed;
	TEE_Result res;
	size_t bit;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number(names[0], 1, &sealed), TEE_SUCCESS);
	EXPECT(set_number(names[1], 2, &records[1]), TEE_SUCCESS);
	for (bit = 0; bit < sizeof(sealed) * 8; bit++) {
		offer = offer_of(&sealed);
		((uint8_t *)&offer.record)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		res = use(names[0], &offer);
		CHECK(res == KEYCACHE_FORGED || res == KEYCACHE_STALE);
		res = use(names[1], &offer);
		CHECK(res == KEYCACHE_FORGED || res == KEYCACHE_STALE);
	}
	offer = offer_of(&sealed);
	EXPECT(use(names[0], &offer), TEE_SUCCESS);
}

void test_policies(void)
{
	struct keycache_stats now;
	unsigned int i;

	/* None: every use opens a record. */
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 3, 0);
	for (i = 0; i < 5; i++)
		EXPECT(set_number(name(i), i, &records[i]), TEE_SUCCESS);
	EXPECT(use(name(0), offered(0)), TEE_SUCCESS);
	CHECK(!cached(name(0)));
	EXPECT(load(name(0), offered(0)), TEE_ERROR_BAD_STATE);
	EXPECT(stats().capacity, 0);

	/* LRU: what was used last stays. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(3), 0, 0), TEE_SUCCESS);
	for (i = 0; i < 3; i++)
		EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
	CHECK(cached(name(0)));
	EXPECT(use(name(3), offered(3)), TEE_SUCCESS);
	CHECK(!cached(name(1)));
	CHECK(cached(name(2)) && cached(name(0)) && cached(name(3)));
	EXPECT(load(name(4), offered(4)), TEE_SUCCESS);
	CHECK(!cached(name(2)));
	EXPECT(load(name(4), offered(4)), TEE_SUCCESS);
	now = stats();
	EXPECT(now.evictions, 2);
	EXPECT(now.cached, 3);
	EXPECT(now.capacity, 3);

	/* The host's: its offers decide. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_HOST, bytes_for(3), 0, 0), TEE_SUCCESS);
	for (i = 0; i < 3; i++) {
		EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
		CHECK(!cached(name(i)));
		(void)offered(i);
		offer.keep = 1;
		EXPECT(use(name(i), &offer), TEE_SUCCESS);
		CHECK(cached(name(i)));
	}
	(void)offered(3);
	offer.keep = 1;
	EXPECT(use(name(3), &offer), TEE_SUCCESS);
	CHECK(!cached(name(3)) && cached(name(0)));
	EXPECT(load(name(3), &offer), KEYCACHE_FULL);
	offer.victim_length = KEYCACHE_ID_BYTES + 1;
	EXPECT(load(name(3), &offer), KEYCACHE_FULL);
	offer.victim_length = (uint8_t)strlen(name(1));
	memcpy(offer.victim, name(1), offer.victim_length);
	/* A record that is no good evicts nobody. */
	offer.record.tag[0] ^= 1;
	EXPECT(use(name(3), &offer), KEYCACHE_FORGED);
	CHECK(cached(name(1)));
	offer.record.tag[0] ^= 1;
	EXPECT(use(name(3), &offer), TEE_SUCCESS);
	CHECK(cached(name(3)) && !cached(name(1)) && cached(name(0)));
	EXPECT(evict(name(0)), TEE_SUCCESS);
	EXPECT(load(name(4), offered(4)), TEE_SUCCESS);
	CHECK(cached(name(4)) && !cached(name(0)));
	/* A SET changes what is cached, and does not bring in what is not. */
	EXPECT(set_number(name(4), 9, &records[4]), TEE_SUCCESS);
	CHECK(cached(name(4)));
	EXPECT(set_number(name(0), 9, &records[0]), TEE_SUCCESS);
	CHECK(!cached(name(0)));
	/* So do LRU's, and they do bring it in. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(3), 0, 0), TEE_SUCCESS);
	EXPECT(set_number(name(0), 8, &records[0]), TEE_SUCCESS);
	CHECK(cached(name(0)));
	EXPECT(delete(name(0)), TEE_SUCCESS);
	EXPECT(use(name(0), NULL), KEYCACHE_NO_KEY);
}

/* The cache against a list that is as simple as can be. */
void test_lru_model(void)
{
	enum { CLIENTS = 40, CAPACITY = 13 };
	unsigned int model[CAPACITY];
	unsigned int count = 0;
	unsigned int hits = 0;
	unsigned int run;
	unsigned int i;
	unsigned int at;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, CAPACITY, 0);
	for (i = 0; i < CLIENTS; i++)
		EXPECT(set_number(name(i), i, &records[i]), TEE_SUCCESS);
	for (i = 0; i < CLIENTS; i++)
		EXPECT(evict(name(i)), TEE_SUCCESS);
	for (run = 0; run < 20000; run++) {
		unsigned int client = pick(1 + pick(CLIENTS));
		bool there;

		for (at = 0; at < count && model[at] != client; at++)
			;
		there = at < count;
		if (pick(20) == 0) {
			EXPECT(evict(name(client)), TEE_SUCCESS);
			if (there)
				memmove(model + at, model + at + 1, (--count - at) * sizeof(model[0]));
			continue;
		}
		hits += there;
		EXPECT(use(name(client), NULL), there ? TEE_SUCCESS : KEYCACHE_MISS);
		if (!there) {
			EXPECT(use(name(client), offered(client)), TEE_SUCCESS);
			count += count < CAPACITY;
			at = count - 1;
		}
		memmove(model + 1, model, at * sizeof(model[0]));
		model[0] = client;
	}
	EXPECT(stats().cached, count);
	EXPECT(stats().hits, hits);
	CHECK(hits > 5000 && hits < 15000);
}

static bool in_memory(unsigned int number)
{
	uint8_t key[32];

	make_key(number, key);
	return shim_memory_has(key, sizeof(key));
}

void test_wiping(void)
{
	static uint8_t key[32];
	uint32_t count;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 2, 0);
	EXPECT(set_number("one", 1, &records[1]), TEE_SUCCESS);
	CHECK(in_memory(1));
	EXPECT(set_number("two", 2, &records[2]), TEE_SUCCESS);
	EXPECT(set_number("three", 3, &records[3]), TEE_SUCCESS);
	CHECK(!in_memory(1) && in_memory(2) && in_memory(3));
	EXPECT(set_number("two", 4, &records[2]), TEE_SUCCESS);
	CHECK(!in_memory(2) && in_memory(4));
	EXPECT(delete("two"), TEE_SUCCESS);
	CHECK(!in_memory(4));
	EXPECT(evict("three"), TEE_SUCCESS);
	CHECK(!in_memory(3));
	EXPECT(use("three", offered(3)), TEE_SUCCESS);
	CHECK(in_memory(3));
	/* Nor is it left in memory that is given back. */
	make_key(3, key);
	shim_watch(key, sizeof(key));
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(3), 0, 0), TEE_SUCCESS);
	CHECK(!in_memory(3));
	EXPECT(use("three", offered(3)), TEE_SUCCESS);
	shim_stop();
	shim_watch(NULL, 0);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 2, 0);
	EXPECT(repair(&count), TEE_SUCCESS);
	EXPECT(count, 0);
}

void test_bounds(void)
{
	static const unsigned int capacities[] = { 1, 2, 3, 10, 100 };
	struct keycache_stats now;
	unsigned int c;
	unsigned int i;

	CHECK(!shim_start(folder()));
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 10, 0, 0), TEE_SUCCESS);
	EXPECT(stats().capacity, 0);
	for (i = 0; i < 150; i++)
		EXPECT(set_number(name(i), i, &records[i]), TEE_SUCCESS);
	EXPECT(use(name(0), NULL), KEYCACHE_MISS);
	EXPECT(use(name(0), offered(0)), TEE_SUCCESS);

	for (c = 0; c < sizeof(capacities) / sizeof(capacities[0]); c++) {
		uint32_t bytes = bytes_for(capacities[c]);

		/* A byte less holds one less. */
		EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes - 1, 0, 0), TEE_SUCCESS);
		EXPECT(stats().capacity, capacities[c] - 1);
		EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes, 0, 0), TEE_SUCCESS);
		for (i = 0; i < 150; i++) {
			EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
			now = stats();
			CHECK(now.cached <= capacities[c] && now.cache_bytes <= bytes);
			EXPECT(now.cached, i + 1 < capacities[c] ? i + 1 : capacities[c]);
		}
	}
	/* A heap that does not hold it: an error, and the next try is not in its way. */
	shim_memory_limit(64 * 1024);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 1 << 20, 0, 40 * 1024), TEE_ERROR_OUT_OF_MEMORY);
	EXPECT(exists(name(0)), KEYCACHE_NOT_CONFIGURED);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, UINT32_MAX, 0, 40 * 1024), TEE_ERROR_OUT_OF_MEMORY);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 1000, 0, UINT32_MAX), TEE_ERROR_OUT_OF_MEMORY);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 10000, 0, 40 * 1024), TEE_SUCCESS);
	EXPECT(use(name(0), offered(0)), TEE_SUCCESS);
}

/* What cannot be configured leaves what there was. */
void test_configure_fails(void)
{
	struct keycache_record sealed;
	uint8_t key[32];

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	make_key(2, key);
	EXPECT(set("car", key, 32, KEYCACHE_RELAXED, &sealed), TEE_SUCCESS);
	offer = offer_of(&sealed);
	shim_memory_limit(64 << 20);
	/* Another cache, another index, another storage. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, UINT32_MAX, 0, 0), TEE_ERROR_OUT_OF_MEMORY);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	CHECK(cached("car"));
	EXPECT(stats().capacity, 4);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 65 << 20), TEE_ERROR_OUT_OF_MEMORY);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	EXPECT(configure(KEYCACHE_RPMB, KEYCACHE_POLICY_LRU, 65 << 20, 0, 0), TEE_ERROR_OUT_OF_MEMORY);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	EXPECT(set_number("car", 3, &sealed), TEE_SUCCESS);
	shim_fail_read(1, TEE_ERROR_STORAGE_NOT_AVAILABLE);
	EXPECT(configure(KEYCACHE_RPMB, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_ERROR_STORAGE_NOT_AVAILABLE);
	offer = offer_of(&sealed);
	EXPECT(use("car", &offer), TEE_SUCCESS);
}

/* Who has configured it has it to itself, until the TA is unloaded. */
void test_owner(void)
{
	struct keycache_record sealed;

	EXPECT(shim_login(TEE_LOGIN_USER, 7), TEE_SUCCESS);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	EXPECT(shim_login(TEE_LOGIN_USER, 8), TEE_ERROR_ACCESS_DENIED);
	EXPECT(shim_login(TEE_LOGIN_PUBLIC, 0), TEE_ERROR_ACCESS_DENIED);
	EXPECT(shim_login(TEE_LOGIN_PUBLIC, 7), TEE_ERROR_ACCESS_DENIED);
	EXPECT(shim_login(TEE_LOGIN_USER, 7), TEE_SUCCESS);
	EXPECT(exists("car"), TEE_SUCCESS);
	/* What fails makes nobody its owner. */
	shim_stop();
	EXPECT(shim_login(TEE_LOGIN_USER, 8), TEE_SUCCESS);
	CHECK(!shim_start(folder()));
	shim_memory_limit(64 << 20);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, UINT32_MAX, 0, 0), TEE_ERROR_OUT_OF_MEMORY);
	EXPECT(shim_login(TEE_LOGIN_USER, 7), TEE_SUCCESS);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_SUCCESS);
	EXPECT(exists("car"), TEE_SUCCESS);
	EXPECT(shim_login(TEE_LOGIN_USER, 8), TEE_ERROR_ACCESS_DENIED);
	shim_stop();
	EXPECT(shim_login(TEE_LOGIN_PUBLIC, 0), TEE_SUCCESS);
}

/* A session that was open before the owner came. */
void test_owner_comes_later(void)
{
	struct keycache_record sealed;
	void *other;

	CHECK(!shim_start(folder()));
	other = shim_second_session(TEE_LOGIN_USER, 9);
	CHECK(other != NULL);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_SUCCESS);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	shim_swap_session(&other);
	EXPECT(exists("car"), TEE_ERROR_ACCESS_DENIED);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_ERROR_ACCESS_DENIED);
	shim_swap_session(&other);
	EXPECT(exists("car"), TEE_SUCCESS);
	TA_CloseSessionEntryPoint(other);
}

void test_configure(void)
{
	struct keycache_record sealed;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	/* The same again: a server that was started again finds its cache. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_SUCCESS);
	CHECK(cached("car"));
	/* What is wrong changes nothing. */
	/* No storage, on purpose. NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
	EXPECT(configure(7, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_ERROR_BAD_PARAMETERS);
	CHECK(cached("car"));
	/* Something else: it begins anew, and relaxed SETs are written before. */
	{
		uint8_t key[32];

		make_key(2, key);
		EXPECT(set("van", key, 32, KEYCACHE_RELAXED, &sealed), TEE_SUCCESS);
	}
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(5), 0, 0), TEE_SUCCESS);
	EXPECT(use("car", NULL), KEYCACHE_MISS);
	offer = offer_of(&sealed);
	EXPECT(use("van", &offer), TEE_SUCCESS);
	EXPECT(configure(KEYCACHE_RPMB, KEYCACHE_POLICY_LRU, bytes_for(5), 0, 0), TEE_SUCCESS);
	EXPECT(use("car", NULL), KEYCACHE_NO_KEY);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(5), 0, 0), TEE_SUCCESS);
	EXPECT(use("car", NULL), KEYCACHE_MISS);
}
