/* SPDX-License-Identifier: BSD-2-Clause */
/* What outlasts the TA: restarts, lost power, full, damaged and older storage. */
#include <stdlib.h>

#include "test.h"

static struct keycache_record records[4000];
static struct keycache_offer offer;
static struct keycache_record scratch; /* that nobody looks at */

static const struct keycache_offer *offered(unsigned int number)
{
	offer = offer_of(&records[number]);
	return &offer;
}

static TEE_Result set_relaxed(const char *id, unsigned int number, struct keycache_record *sealed)
{
	uint8_t key[32];

	make_key(number, key);
	return set(id, key, sizeof(key), KEYCACHE_RELAXED, sealed);
}

static void expect_key(const char *id, unsigned int number)
{
	unsigned int found = 0;

	EXPECT(key_number(id, 4000, &found), TEE_SUCCESS);
	EXPECT(found, number);
}

void test_restart(void)
{
	enum { CLIENTS = 300 };
	struct keycache_stats now;
	unsigned int i;
	unsigned int opens;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 50, 0);
	for (i = 0; i < CLIENTS; i++)
		EXPECT(set_number(name(i), i + 1, &records[i]), TEE_SUCCESS);
	shim_crash();

	/* The index is read once; after that the records are enough. */
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 50, 0);
	EXPECT(stats().clients, CLIENTS);
	EXPECT(stats().index_reads, KEYCACHE_BUCKETS);
	opens = shim_counts.opens;
	for (i = 0; i < CLIENTS; i++)
		EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
	for (i = CLIENTS - 50; i < CLIENTS; i++)
		CHECK(cached(name(i)));
	EXPECT(use("nobody", NULL), KEYCACHE_NO_KEY);
	EXPECT(shim_counts.opens, opens);
	now = stats();
	EXPECT(now.slow_reads, 0);
	EXPECT(now.record_opens, CLIENTS);
	EXPECT(now.hits, 50);
	/* A record that is lost is made anew from storage. */
	for (i = 0; i < 20; i++)
		expect_key(name(i), i + 1);
	EXPECT(stats().slow_reads, 20);
}

void test_small_index(void)
{
	enum { CLIENTS = 4000 };
	struct keycache_stats now;
	unsigned int i;

	CHECK(!shim_start(folder()));
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 32 * 1024), TEE_SUCCESS);
	for (i = 0; i < CLIENTS; i++)
		EXPECT(set_number(name(i), i, &records[i]), TEE_SUCCESS);
	now = stats();
	CHECK(now.index_bytes <= now.index_bound && now.index_bound <= 32 * 1024);
	EXPECT(now.clients, CLIENTS);
	for (i = 0; i < CLIENTS; i += 7)
		EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
	CHECK(stats().index_reads > now.index_reads + 100);
	EXPECT(use(name(CLIENTS), NULL), KEYCACHE_NO_KEY);
	EXPECT(delete(name(9)), TEE_SUCCESS);
	EXPECT(use(name(9), offered(9)), KEYCACHE_NO_KEY);
	EXPECT(stats().clients, CLIENTS - 1);
	EXPECT(stats().lost_buckets, 0);
	/* With the default all of it fits. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_SUCCESS);
	now = stats();
	EXPECT(now.clients, CLIENTS - 1);
	for (i = 10; i < CLIENTS; i++)
		EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
	EXPECT(stats().index_reads, now.index_reads);
}

void test_full_bucket(void)
{
	struct keycache_record sealed;
	unsigned int count = 0;
	unsigned int i;
	unsigned int first = 0;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	for (i = 0; count < KEYCACHE_BUCKET_SLOTS; i++) {
		if (bucket_of(name(i)) != 5)
			continue;
		if (!count++)
			first = i;
		EXPECT(set_number(name(i), 1, &sealed), TEE_SUCCESS);
	}
	EXPECT(stats().clients, KEYCACHE_BUCKET_SLOTS);
	while (bucket_of(name(i)) != 5)
		i++;
	EXPECT(set_number(name(i), 1, &sealed), TEE_ERROR_STORAGE_NO_SPACE);
	EXPECT(exists(name(i)), KEYCACHE_NO_KEY);
	/* Who is there already can be set anew, and a place that is given up is taken. */
	EXPECT(set_number(name(first), 2, &sealed), TEE_SUCCESS);
	EXPECT(delete(name(first)), TEE_SUCCESS);
	EXPECT(set_number(name(i), 3, &sealed), TEE_SUCCESS);
	expect_key(name(i), 3);
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(stats().clients, KEYCACHE_BUCKET_SLOTS);
	expect_key(name(i), 3);
}

void test_last_version(void)
{
	char object[16];
	struct keycache_record sealed;
	unsigned int at;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	shim_stop();
	/* Two are left. */
	(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of("car"));
	for (at = 0; at < 4; at++)
		forge("ree", object, 104 + at, at ? 0xff : 0xfd);
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("car", 2, &sealed), TEE_SUCCESS);
	EXPECT(sealed.version, UINT32_MAX - 1);
	EXPECT(set_relaxed("car", 3, &sealed), TEE_SUCCESS);
	EXPECT(sealed.version, UINT32_MAX);
	EXPECT(set_relaxed("car", 4, &sealed), TEE_ERROR_OVERFLOW);
	EXPECT(set_number("car", 4, &sealed), TEE_ERROR_OVERFLOW);
	EXPECT(delete("car"), TEE_ERROR_OVERFLOW);
	expect_key("car", 3);
}

void test_list(void)
{
	enum { CLIENTS = 500 };
	static unsigned int seen[CLIENTS];
	static const size_t sizes[] = { KEYCACHE_ID_BYTES + 1, 200, 5000 };
	unsigned int s;
	unsigned int i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	for (i = 0; i < CLIENTS; i++)
		EXPECT(set_relaxed(name(i), i, &records[i]), TEE_SUCCESS);
	for (i = 0; i < CLIENTS; i += 3)
		EXPECT(delete(name(i)), TEE_SUCCESS);
	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t position = 0;
		unsigned int calls = 0;

		memset(seen, 0, sizeof(seen));
		do {
			static char ids[5000];
			size_t bytes = sizes[s];
			const char *at;

			EXPECT(list(&position, ids, &bytes), TEE_SUCCESS);
			for (at = ids; at < ids + bytes; at += strlen(at) + 1) {
				CHECK(!strncmp(at, "client-", 7));
				seen[strtoul(at + 7, NULL, 10)]++;
			}
		} while (position && ++calls < 2000);
		CHECK(!position);
		for (i = 0; i < CLIENTS; i++)
			EXPECT(seen[i], i % 3 ? 1 : 0);
	}
}

void test_relaxed(void)
{
	struct keycache_record sealed;
	unsigned int writes;
	unsigned int i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("old", 1, &sealed), TEE_SUCCESS);
	/* A client's first key is written at once: only then is it known that it fits. */
	EXPECT(set_relaxed("new", 10, &sealed), TEE_SUCCESS);
	EXPECT(stats().waiting, 0);
	/* The first one reserves versions; the others write nothing. */
	EXPECT(set_relaxed("old", 2, &records[0]), TEE_SUCCESS);
	writes = shim_counts.writes;
	EXPECT(set_relaxed("new", 3, &records[1]), TEE_SUCCESS);
	EXPECT(set_relaxed("new", 4, &records[1]), TEE_SUCCESS);
	EXPECT(shim_counts.writes, writes);
	EXPECT(stats().waiting, 2);
	EXPECT(exists("new"), TEE_SUCCESS);
	expect_key("old", 2);
	expect_key("new", 4);
	EXPECT(use("new", offered(1)), TEE_SUCCESS);

	/* A reset loses them: the state of before is there. */
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	expect_key("old", 1);
	expect_key("new", 10);
	EXPECT(use("old", offered(0)), KEYCACHE_STALE);
	EXPECT(use("new", offered(1)), KEYCACHE_STALE);

	/* FLUSH does not; nor does an orderly end. */
	EXPECT(set_relaxed("old", 5, &records[0]), TEE_SUCCESS);
	EXPECT(set_relaxed("new", 6, &records[1]), TEE_SUCCESS);
	EXPECT(flush(), TEE_SUCCESS);
	EXPECT(stats().waiting, 0);
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(use("old", offered(0)), TEE_SUCCESS);
	EXPECT(use("new", offered(1)), TEE_SUCCESS);
	EXPECT(set_relaxed("new", 7, &records[1]), TEE_SUCCESS);
	shim_stop();
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	expect_key("new", 7);

	/* What waits can be removed, and set durably. */
	EXPECT(set_relaxed("new", 8, &records[1]), TEE_SUCCESS);
	EXPECT(set_number("new", 9, &sealed), TEE_SUCCESS);
	EXPECT(stats().waiting, 0);
	EXPECT(use("new", offered(1)), KEYCACHE_STALE);
	EXPECT(set_relaxed("newer", 8, &records[1]), TEE_SUCCESS);
	EXPECT(delete("newer"), TEE_SUCCESS);
	EXPECT(exists("newer"), KEYCACHE_NO_KEY);
	EXPECT(set_relaxed("new", 8, &records[1]), TEE_SUCCESS);
	EXPECT(delete("new"), TEE_SUCCESS);
	EXPECT(exists("new"), KEYCACHE_NO_KEY);

	/* More than there is room for are written. */
	for (i = 0; i <= KEYCACHE_RELAXED_MOST; i++)
		EXPECT(set_number(name(i), 100 + i, &sealed), TEE_SUCCESS);
	for (i = 0; i <= KEYCACHE_RELAXED_MOST; i++)
		EXPECT(set_relaxed(name(i), i + 1, &records[i]), TEE_SUCCESS);
	EXPECT(stats().waiting, 1);
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	for (i = 0; i < KEYCACHE_RELAXED_MOST; i++)
		EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
	expect_key(name(KEYCACHE_RELAXED_MOST), 100 + KEYCACHE_RELAXED_MOST);
}

/* The record of a relaxed SET that was lost must never be current again, however many SETs follow. */
void test_relaxed_versions(void)
{
	struct keycache_record sealed;
	unsigned int life;
	unsigned int i;

	for (life = 0; life < 5; life++) {
		start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
		for (i = 0; i < 20; i++)
			EXPECT(set_relaxed("car", i + 1, &records[life * 20 + i]), TEE_SUCCESS);
		shim_crash();
	}
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	for (i = 0; i < 200; i++) {
		unsigned int lost;

		EXPECT(i % 2 ? set_number("car", 50, &sealed) : set_relaxed("car", 50, &sealed), TEE_SUCCESS);
		for (lost = 0; lost < 100; lost++)
			EXPECT(use("car", offered(lost)), KEYCACHE_STALE);
	}
}

void test_failed_writes(void)
{
	static const TEE_Result errors[] = { TEE_ERROR_STORAGE_NO_SPACE, TEE_ERROR_STORAGE_NOT_AVAILABLE,
					     TEE_ERROR_OUT_OF_MEMORY };
	struct keycache_record old;
	struct keycache_record failed;
	unsigned int i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 8, 0);
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		EXPECT(set_number("car", 1, &old), TEE_SUCCESS);
		/* Nothing was written. */
		shim_fail(1, errors[i], false);
		EXPECT(set_number("car", 2, &failed), errors[i]);
		offer = offer_of(&old);
		EXPECT(use("car", &offer), TEE_SUCCESS);
		expect_key("car", 1);
		/* It was, and an error came back. */
		shim_fail(1, errors[i], true);
		EXPECT(set_number("car", 3, &failed), errors[i]);
		EXPECT(use("car", &offer), KEYCACHE_STALE);
		expect_key("car", 3);
		shim_fail(1, errors[i], true);
		EXPECT(delete("car"), errors[i]);
		EXPECT(exists("car"), KEYCACHE_NO_KEY);
		EXPECT(use("car", &offer), KEYCACHE_NO_KEY);
		shim_fail(1, errors[i], false);
		EXPECT(set_number("car", 4, &failed), errors[i]);
		EXPECT(exists("car"), KEYCACHE_NO_KEY);
		/* Relaxed: the reservation, then the write. */
		EXPECT(set_number("van", 4, &failed), TEE_SUCCESS);
		shim_fail(1, errors[i], false);
		EXPECT(set_relaxed("van", 5, &failed), i ? TEE_SUCCESS : errors[i]);
		EXPECT(set_relaxed("van", 6, &failed), TEE_SUCCESS);
		shim_fail(1, errors[i], false);
		EXPECT(flush(), errors[i]);
		expect_key("van", 6);
		EXPECT(flush(), TEE_SUCCESS);
		expect_key("van", 6);
		EXPECT(delete("van"), TEE_SUCCESS);
	}
	shim_stop();
	/* At the first start: what was made is not made again. */
	for (i = 1; i <= KEYCACHE_BUCKETS + 1; i += 8) {
		remove_storage(folder());
		CHECK(!shim_start(folder()));
		shim_fail(i, TEE_ERROR_STORAGE_NO_SPACE, i % 16 == 1);
		EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_ERROR_STORAGE_NO_SPACE);
		EXPECT(exists("car"), KEYCACHE_NOT_CONFIGURED);
		EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_SUCCESS);
		EXPECT(set_number("car", 1, &old), TEE_SUCCESS);
		shim_stop();
	}
}

static TEE_Result try_set(void)
{
	return set_number("car", 1, &scratch);
}

static TEE_Result try_add(void)
{
	return set_number("new", 1, &scratch);
}

static TEE_Result try_relaxed(void)
{
	TEE_Result res = set_relaxed("van", 2, &scratch);

	return res ? res : flush();
}

static TEE_Result try_delete(void)
{
	return delete("new");
}

static TEE_Result try_record(void)
{
	return record("van", &scratch);
}

static TEE_Result try_list(void)
{
	static char ids[4096];
	uint32_t position = 0;
	TEE_Result res;
	size_t bytes;

	do {
		bytes = sizeof(ids);
		res = list(&position, ids, &bytes);
	} while (!res && position);
	return res;
}

/* A small index, so that buckets are read while commands run. */
static TEE_Result try_configure(void)
{
	TEE_Result res = configure(KEYCACHE_RPMB, KEYCACHE_POLICY_NONE, 0, 0, 32 * 1024);

	return res ? res : configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 32 * 1024);
}

/* Every opening and reading of every command fails once: an error, no panic, and it goes on from there. */
void test_failed_reads(void)
{
	static TEE_Result (*const tries[])(void) = { try_set,    try_add,  try_relaxed,  try_delete,
						     try_record, try_list, try_configure };
	char aside[4096];
	unsigned int i;
	unsigned int step;
	bool failed;

	(void)snprintf(aside, sizeof(aside), "%s-aside", folder());
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	for (i = 0; i < 60; i++)
		EXPECT(set_number(name(i), i + 1, &records[i]), TEE_SUCCESS);
	EXPECT(set_number("van", 2, &scratch), TEE_SUCCESS);
	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		for (step = 1; step < 1000; step++) {
			TEE_Result res;

			EXPECT(set_number("new", 5, &scratch), TEE_SUCCESS);
			shim_fail_read(step, TEE_ERROR_STORAGE_NOT_AVAILABLE);
			res = tries[i]();
			failed = shim_failed_read();
			shim_fail_read(0, 0);
			if (!failed) {
				EXPECT(res, TEE_SUCCESS);
				break;
			}
			EXPECT(res, TEE_ERROR_STORAGE_NOT_AVAILABLE);
			if (tries[i] == try_configure)
				EXPECT(try_configure(), TEE_SUCCESS);
			expect_key("van", 2);
		}
		CHECK(step > 2 && step < 1000);
		/* The same, and the object is gone with it. */
		keep_storage(aside);
		for (step = 1; step < 1000; step++) {
			TEE_Result res;
			uint32_t count;

			EXPECT(set_number("new", 5, &scratch), TEE_SUCCESS);
			shim_fail_read(step, TEE_ERROR_CORRUPT_OBJECT);
			res = tries[i]();
			failed = shim_failed_read();
			shim_fail_read(0, 0);
			CHECK(res == TEE_SUCCESS || res == TEE_ERROR_CORRUPT_OBJECT || res == KEYCACHE_NO_KEY);
			if (!failed)
				break;
			res = repair(&count);
			CHECK(res == TEE_SUCCESS || res == KEYCACHE_NOT_CONFIGURED);
			shim_stop();
			restore_storage(aside);
			keep_storage(aside);
			start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
		}
		CHECK(step > 2 && step < 1000);
		remove_storage(aside);
		expect_key("van", 2);
	}
}

/* New clients until one does not fit; how many do. */
static unsigned int fill_storage(void)
{
	unsigned int count;

	start(KEYCACHE_RPMB, KEYCACHE_POLICY_LRU, 10, 0);
	shim_storage_limit(64 * 1024);
	for (count = 0; count < 2000; count++)
		if (set_number(name(count), count + 1, &records[count]))
			break;
	CHECK(count > 100 && count < 2000);
	return count;
}

void test_full_storage(void)
{
	struct keycache_record sealed;
	unsigned int count;
	unsigned int i;

	count = fill_storage();
	EXPECT(set_number(name(count), 1, &sealed), TEE_ERROR_STORAGE_NO_SPACE);
	/* What is there works, and can be changed in its place or removed. */
	for (i = 0; i < count; i++)
		EXPECT(use(name(i), offered(i)), TEE_SUCCESS);
	EXPECT(set_number(name(3), 1234, &sealed), TEE_SUCCESS);
	expect_key(name(3), 1234);
	EXPECT(delete(name(4)), TEE_SUCCESS);
	EXPECT(set_number(name(4), 5, &sealed), TEE_SUCCESS);
	expect_key(name(4), 5);
}

/* What is confirmed comes into storage: who does not fit hears it at once, and takes nobody else's key along. */
void test_full_storage_relaxed(void)
{
	struct keycache_record sealed;
	unsigned int count;
	unsigned int i;

	count = fill_storage();
	/* Others may still find a place in their buckets. */
	for (i = count; i < count + 500; i++) {
		if (bucket_of(name(i)) != bucket_of(name(count)))
			continue;
		EXPECT(set_relaxed(name(i), 1, &sealed), TEE_ERROR_STORAGE_NO_SPACE);
		EXPECT(exists(name(i)), KEYCACHE_NO_KEY);
	}
	EXPECT(set_relaxed(name(3), 1234, &sealed), TEE_SUCCESS);
	EXPECT(flush(), TEE_SUCCESS);
	shim_crash();
	start(KEYCACHE_RPMB, KEYCACHE_POLICY_LRU, 10, 0);
	expect_key(name(3), 1234);
}

/* One key that cannot be written keeps no other one from it, nor a server from its start. */
void test_flush_goes_on(void)
{
	struct keycache_record sealed;
	unsigned int i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 10, 0);
	for (i = 0; i < 8; i++)
		EXPECT(set_number(name(i), i + 1, &sealed), TEE_SUCCESS);
	for (i = 0; i < 8; i++)
		EXPECT(set_relaxed(name(i), 100 + i, &sealed), TEE_SUCCESS);
	shim_fail(1, TEE_ERROR_STORAGE_NO_SPACE, false);
	EXPECT(flush(), TEE_ERROR_STORAGE_NO_SPACE);
	EXPECT(stats().waiting, 1);
	EXPECT(stats().failed_flushes, 1);
	/* As a server that is started again does: it waits on. */
	shim_fail(1, TEE_ERROR_STORAGE_NO_SPACE, false);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, bytes_for(10), 0, 0), TEE_SUCCESS);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(10), 0, 0), TEE_SUCCESS);
	for (i = 0; i < 8; i++)
		expect_key(name(i), 100 + i);
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 10, 0);
	for (i = 0; i < 8; i++)
		expect_key(name(i), 100 + i);
}

/* The actions of the power cuts. Before: "old" has key 1, "other" key 2, "gone" key 3, "new" none. */

static void act_set(void)
{
	(void)set_number("old", 11, &scratch);
}

static void act_add(void)
{
	(void)set_number("new", 11, &scratch);
}

static void act_delete(void)
{
	(void)delete("old");
}

static void act_relaxed(void)
{
	(void)set_relaxed("old", 11, &scratch);
}

static void act_flush(void)
{
	(void)set_relaxed("old", 11, &scratch);
	(void)flush();
}

static void act_repair(void)
{
	uint32_t count;

	(void)repair(&count);
}

static void act_nothing(void)
{
}

struct action {
	const char *what;
	void (*run)(void);
	bool first_start; /* the cut is in CONFIGURE, on an empty storage */
	const char *id;
	/* The keys that it may have after a cut; 0: none. */
	unsigned int before;
	unsigned int after;
	/* The bucket of "gone" is lost before. */
	bool lose;
	unsigned int steps; /* at least so many */
};

static const struct action actions[] = {
	{ "first start", act_nothing, true, "new", 0, 0, false, 260 },
	{ "overwrite", act_set, false, "old", 1, 11, false, 4 },
	{ "new client", act_add, false, "new", 0, 11, false, 4 },
	{ "delete", act_delete, false, "old", 1, 0, false, 4 },
	{ "relaxed", act_relaxed, false, "old", 1, 1, false, 4 },
	{ "flush", act_flush, false, "old", 1, 11, false, 8 },
	{ "repair", act_repair, false, "old", 1, 1, true, 8 },
};

static void lose_bucket(enum keycache_storage storage)
{
	char object[16];

	(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of("gone"));
	remove_object(storage == KEYCACHE_REE ? "ree" : "rpmb", object);
}

/* Whether the power was cut. */
static bool run_cut(const struct action *action, enum keycache_storage storage, unsigned int step)
{
	bool was_cut;

	CHECK(!shim_start(folder()));
	if (action->first_start)
		shim_cut(step);
	(void)configure(storage, KEYCACHE_POLICY_NONE, 0, 0, 0);
	if (!action->first_start)
		shim_cut(step);
	action->run();
	shim_cut(0);
	/* Any command tells. */
	was_cut = exists("other") == TEE_ERROR_TARGET_DEAD;
	shim_crash();
	return was_cut;
}

static unsigned int key_or_none(const char *id)
{
	unsigned int number = 0;
	TEE_Result res = key_number(id, 20, &number);

	if (res == KEYCACHE_NO_KEY)
		return 0;
	EXPECT(res, TEE_SUCCESS);
	CHECK(number);
	return number;
}

void test_power_cuts(void)
{
	static const enum keycache_storage storages[] = { KEYCACHE_REE, KEYCACHE_RPMB };
	char aside[4096];
	unsigned int points = 0;
	unsigned int s;
	unsigned int a;

	(void)snprintf(aside, sizeof(aside), "%s-aside", folder());
	for (s = 0; s < 2; s++) {
		for (a = 0; a < sizeof(actions) / sizeof(actions[0]); a++) {
			const struct action *action = &actions[a];
			unsigned int step = 0;
			unsigned int seen_before = 0;
			unsigned int seen_after = 0;
			bool was_cut = true;

			remove_storage(folder());
			if (!action->first_start) {
				start(storages[s], KEYCACHE_POLICY_NONE, 0, 0);
				EXPECT(set_number("old", 1, &records[1]), TEE_SUCCESS);
				EXPECT(set_number("other", 2, &records[2]), TEE_SUCCESS);
				EXPECT(set_number("gone", 3, &records[3]), TEE_SUCCESS);
				shim_stop();
				if (action->lose)
					lose_bucket(storages[s]);
				keep_storage(aside);
			}
			while (was_cut) {
				unsigned int found;

				remove_storage(folder());
				if (!action->first_start) {
					restore_storage(aside);
					keep_storage(aside);
				}
				was_cut = run_cut(action, storages[s], ++step);
				points += was_cut;
				start(storages[s], KEYCACHE_POLICY_NONE, 0, 0);
				found = key_or_none(action->id);
				seen_before += found == action->before;
				seen_after += found == action->after;
				CHECK(found == action->before || found == action->after);
				if (!action->first_start) {
					EXPECT(key_or_none("other"), 2);
					offer = offer_of(&records[2]);
					/* Repair takes a new seal key first; nothing else makes good records bad. */
					if (!action->lose)
						EXPECT(use("other", &offer), TEE_SUCCESS);
				}
				/* The record of before is good exactly if its key is the current one. */
				if (!action->first_start && !action->lose && action->before) {
					offer = offer_of(&records[action->before]);
					EXPECT(use(action->id, &offer), found == action->before ? TEE_SUCCESS
									: found                 ? KEYCACHE_STALE
												: KEYCACHE_NO_KEY);
				}
				if (action->lose) {
					uint32_t count;

					EXPECT(repair(&count), TEE_SUCCESS);
					EXPECT(exists("gone"), KEYCACHE_NO_KEY);
					offer = offer_of(&records[3]);
					EXPECT(set_number("gone", 4, &scratch), TEE_SUCCESS);
					EXPECT(use("gone", &offer), KEYCACHE_FORGED);
				}
				/* And it works on. */
				EXPECT(set_number(action->id, 12, &scratch), TEE_SUCCESS);
				EXPECT(key_or_none(action->id), 12);
				shim_stop();
			}
			if (step <= action->steps)
				printf("%s: only %u steps\n", action->what, step - 1);
			CHECK(step > action->steps);
			CHECK(seen_before && seen_after);
			remove_storage(aside);
		}
	}
	printf("     %u cuts\n", points);
}

void test_rollback(void)
{
	struct keycache_record old;
	struct keycache_record current;
	char aside[4096];

	(void)snprintf(aside, sizeof(aside), "%s-aside", folder());
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("car", 1, &old), TEE_SUCCESS);
	keep_storage(aside);
	EXPECT(set_number("car", 2, &current), TEE_SUCCESS);

	/* While the TA runs, its index does not go back with the storage. */
	restore_storage(aside);
	offer = offer_of(&old);
	EXPECT(use("car", &offer), KEYCACHE_STALE);
	offer = offer_of(&current);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	EXPECT(stats().rolled_back, 0);
	/* What has to look into storage finds out, and the bucket is not used any more. */
	EXPECT(record("car", &scratch), TEE_ERROR_CORRUPT_OBJECT);
	EXPECT(stats().rolled_back, 1);
	EXPECT(stats().lost_buckets, 1);
	EXPECT(set_number("car", 3, &scratch), TEE_ERROR_CORRUPT_OBJECT);
	EXPECT(use("car", &offer), TEE_ERROR_CORRUPT_OBJECT);
	/* FLUSH and LIST go on without it. */
	EXPECT(flush(), TEE_SUCCESS);
	/* Nor is it believed after another configuration. */
	EXPECT(configure(KEYCACHE_RPMB, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_SUCCESS);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_SUCCESS);
	EXPECT(stats().lost_buckets, 1);
	offer = offer_of(&old);
	EXPECT(use("car", &offer), TEE_ERROR_CORRUPT_OBJECT);
	/* Repaired, it is empty: no older key comes back. */
	{
		uint32_t count;

		EXPECT(repair(&count), TEE_SUCCESS);
		EXPECT(count, 1);
	}
	EXPECT(use("car", &offer), KEYCACHE_NO_KEY);
	EXPECT(set_number("car", 4, &scratch), TEE_SUCCESS);
	EXPECT(use("car", &offer), KEYCACHE_FORGED);

	/* A SET finds out as well. */
	shim_stop();
	remove_storage(folder());
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("car", 1, &old), TEE_SUCCESS);
	keep_storage(aside);
	EXPECT(set_number("car", 2, &current), TEE_SUCCESS);
	restore_storage(aside);
	keep_storage(aside);
	EXPECT(set_number("car", 3, &scratch), TEE_ERROR_CORRUPT_OBJECT);
	EXPECT(stats().rolled_back, 1);

	/*
	 * After a restart nothing in the TA knows better: that an older state of the whole storage is refused is for the
	 * storage to do, and OP-TEE's REE file system does it only with RPMB. Written down here so that nobody claims it.
	 */
	shim_crash();
	restore_storage(aside);
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	offer = offer_of(&old);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	offer = offer_of(&current);
	EXPECT(use("car", &offer), KEYCACHE_STALE);
}

void test_damage(void)
{
	struct keycache_record van;
	struct keycache_record car;
	char object[16];
	uint32_t count;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 8, 0);
	EXPECT(set_number("car", 1, &car), TEE_SUCCESS);
	EXPECT(set_number("van", 2, &van), TEE_SUCCESS);
	shim_stop();
	(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of("car"));
	CHECK(bucket_of("car") != bucket_of("van"));

	/* A bucket: its clients get an error, others their keys; not "no key", and not after a restart either. */
	damage("ree", object);
	for (count = 0; count < 2; count++) {
		start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 8, 0);
		EXPECT(stats().lost_buckets, 1);
		offer = offer_of(&car);
		EXPECT(use("car", &offer), TEE_ERROR_CORRUPT_OBJECT);
		EXPECT(exists("car"), TEE_ERROR_CORRUPT_OBJECT);
		EXPECT(set_number("car", 3, &scratch), TEE_ERROR_CORRUPT_OBJECT);
		EXPECT(delete("car"), TEE_ERROR_CORRUPT_OBJECT);
		offer = offer_of(&van);
		EXPECT(use("van", &offer), TEE_SUCCESS);
		shim_stop();
	}
	/* Repaired: the keys are gone, and records of before are no good, whatever their versions are. */
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 8, 0);
	EXPECT(repair(&count), TEE_SUCCESS);
	EXPECT(count, 1);
	EXPECT(stats().lost_buckets, 0);
	EXPECT(exists("car"), KEYCACHE_NO_KEY);
	EXPECT(set_number("car", 4, &scratch), TEE_SUCCESS);
	EXPECT(scratch.version, car.version);
	EXPECT(evict("car"), TEE_SUCCESS);
	offer = offer_of(&car);
	EXPECT(use("car", &offer), KEYCACHE_FORGED);
	offer = offer_of(&van);
	EXPECT(use("van", &offer), KEYCACHE_FORGED);
	expect_key("van", 2);
	shim_stop();

	/* Meta: a new seal key, and no key is lost. */
	damage("ree", "meta");
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	offer = offer_of(&scratch);
	EXPECT(use("car", &offer), KEYCACHE_FORGED);
	expect_key("car", 4);
	expect_key("van", 2);
	EXPECT(record("car", &car), TEE_SUCCESS);
	/* Meta that is lost while the TA runs is written again. */
	remove_object("ree", "meta");
	EXPECT(set_relaxed("van", 5, &van), TEE_SUCCESS);
	shim_stop();
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	offer = offer_of(&car);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	expect_key("van", 5);
	shim_stop();

	/* Everything: an empty storage, under another seal key. */
	remove_storage(folder());
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(use("car", &offer), KEYCACHE_NO_KEY);
	EXPECT(set_number("car", 6, &scratch), TEE_SUCCESS);
	EXPECT(use("car", &offer), scratch.version == car.version ? KEYCACHE_FORGED : KEYCACHE_STALE);
}

/* What the TA would never write is not believed: nothing of it is used as a length or a key. */
void test_bad_buckets(void)
{
	/* A header of 104 bytes; a slot is version, length of id and key, flags, id, key. */
	static const struct {
		size_t offset;
		uint8_t byte;
	} changes[] = { { 0, 0 },   { 4, 2 },    { 8, 99 },    { 108, 65 }, { 108, 255 },
			{ 109, 0 }, { 109, 17 }, { 109, 255 }, { 112, 'b' } };
	char object[16];
	unsigned int i;

	(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of("car"));
	CHECK(bucket_of("car") != bucket_of("bar"));
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		remove_storage(folder());
		start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
		EXPECT(set_number("car", 1, &scratch), TEE_SUCCESS);
		shim_stop();
		forge("ree", object, changes[i].offset, changes[i].byte);
		start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
		EXPECT(stats().lost_buckets, 1);
		EXPECT(record("car", &scratch), TEE_ERROR_CORRUPT_OBJECT);
		shim_stop();
	}
	/* Meta of another format is left alone. */
	forge("ree", "meta", 4, 9);
	CHECK(!shim_start(folder()));
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_ERROR_BAD_FORMAT);
	EXPECT(exists("car"), KEYCACHE_NOT_CONFIGURED);
}

void test_naive(void)
{
	struct keycache_record none;
	char longest[KEYCACHE_ID_BYTES + 1];
	uint8_t key[32];
	uint8_t found[32];
	size_t bytes;
	unsigned int i;
	unsigned int opens;

	start(KEYCACHE_RPMB, KEYCACHE_POLICY_NONE, 0, KEYCACHE_NAIVE | KEYCACHE_ALLOW_GET);
	for (i = 0; i < 20; i++)
		EXPECT(set_number(name(i), i, &none), TEE_SUCCESS);
	make_key(77, key);
	EXPECT(set(name(3), key, 16, 0, &none), TEE_SUCCESS);
	for (i = 0; i < 20; i++) {
		opens = shim_counts.opens;
		EXPECT(get(name(i), NULL, found, &bytes), TEE_SUCCESS);
		EXPECT(shim_counts.opens, opens + 1);
		make_key(i == 3 ? 77 : i, key);
		CHECK(bytes == (i == 3 ? 16 : 32) && !memcmp(found, key, bytes));
	}
	EXPECT(use("nobody", NULL), KEYCACHE_NO_KEY);
	EXPECT(delete(name(3)), TEE_SUCCESS);
	EXPECT(delete(name(3)), KEYCACHE_NO_KEY);
	EXPECT(exists(name(3)), KEYCACHE_NO_KEY);
	EXPECT(exists(name(4)), TEE_SUCCESS);
	EXPECT(record(name(4), &none), TEE_ERROR_NOT_SUPPORTED);
	EXPECT(flush(), TEE_SUCCESS);
	memset(longest, 'a', KEYCACHE_ID_BYTES);
	longest[KEYCACHE_ID_BYTES] = 0;
	EXPECT(set_number(longest, 1, &none), TEE_ERROR_BAD_PARAMETERS);
	EXPECT(set_number(longest + 1, 1, &none), TEE_SUCCESS);
	/* What it does not have: nothing is done, and nobody's previous key is the current one. */
	{
		static const uint32_t commands[] = { KEYCACHE_FORGET, KEYCACHE_GENERATE, KEYCACHE_IDENTITY,
						     KEYCACHE_TRUST,  KEYCACHE_ENROL,    KEYCACHE_BACKUP };
		static const uint32_t types[] = {
			TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE),
			TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, VALUE_IN),
			TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE),
			TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE),
			TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, MEMORY_OUT),
			TEE_PARAM_TYPES(VALUE_INOUT, MEMORY_OUT, NONE, NONE),
		};
		static struct text nothing = { .size = KEYCACHE_EXTRA_BYTES };
		struct keycache_record two[2];
		TEE_Param params[4] = { 0 };
		size_t count;

		for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
			EXPECT(shim_invoke(commands[i], types[i], params), TEE_ERROR_NOT_SUPPORTED);
		EXPECT(set_as(name(4), 1, KEYCACHE_KEEP, 0, two, &count), TEE_ERROR_NOT_SUPPORTED);
		EXPECT(set_as(name(4), 1, 0, KEYCACHE_NO_SEAL, two, &count), TEE_ERROR_NOT_SUPPORTED);
		EXPECT(exists(previous(name(4))), TEE_ERROR_NOT_SUPPORTED);
		EXPECT(open_message(previous(name(4)), NULL, &nothing, &nothing), TEE_ERROR_NOT_SUPPORTED);
		/* A key alone can be out of GET's reach here, too. */
		EXPECT(set_as(name(4), 1, 0, KEYCACHE_NO_GET, two, &count), TEE_SUCCESS);
		EXPECT(get(name(4), NULL, found, &bytes), KEYCACHE_GET_OFF);
	}
	/* The two designs do not see each other's keys. */
	EXPECT(configure(KEYCACHE_RPMB, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_SUCCESS);
	EXPECT(exists(name(4)), KEYCACHE_NO_KEY);
}
