/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lost power at every step of every write of what changes previous keys, enrolments and trust: the state of before, the one of
 * afterwards, or one that is named here; and the same command brings it to its end.
 */
#include "authority.h"

static struct authority authority;
static struct keycache_record records[2];
static struct keycache_handover handover;
static size_t count;
static size_t handed;

/* The current and the previous key's numbers; 0: none. */
struct state {
	unsigned int current;
	unsigned int previous;
};

enum { MOST = 12, MOST_STATES = 4 };

static struct state state_of(const char *id)
{
	struct state state;
	TEE_Result res = key_number(id, MOST, &state.current);

	CHECK(res == TEE_SUCCESS ? state.current : res == KEYCACHE_NO_KEY);
	res = previous_number(id, MOST, &state.previous);
	CHECK(res == TEE_SUCCESS ? state.previous : res == KEYCACHE_NO_KEY);
	return state;
}

static TEE_Result enrol_old(unsigned int number, uint64_t serial, uint32_t how, bool at_once)
{
	struct keycache_enrolment enrolment = enrolment_of(&authority, "old", 0, serial);

	enrolment.at_once = at_once;
	authority_wrap(&authority, &enrolment, number);
	authority_sign(&authority, &enrolment);
	return enrol(&enrolment, how, records, &count, &handover, &handed);
}

/* Before each action "old" has key 1. */

static void before_keep(void)
{
	EXPECT(set_as("old", 1, 0, 0, records, &count), TEE_SUCCESS);
}

static TEE_Result keep(void)
{
	return set_as("old", 11, KEYCACHE_KEEP, 0, records, &count);
}

static void before_keep_waiting(void)
{
	EXPECT(set_as("old", 2, 0, 0, records, &count), TEE_SUCCESS);
}

static TEE_Result keep_waiting(void)
{
	TEE_Result res = set_as("old", 1, KEYCACHE_RELAXED, 0, records, &count);

	return res ? res : keep();
}

static void before_forget(void)
{
	EXPECT(set_as("old", 2, 0, 0, records, &count), TEE_SUCCESS);
	EXPECT(set_as("old", 1, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
}

static TEE_Result remove_previous(void)
{
	TEE_Result res = forget("old");

	return res == KEYCACHE_NO_KEY ? TEE_SUCCESS : res;
}

static TEE_Result remove_both(void)
{
	TEE_Result res = delete("old");

	return res == KEYCACHE_NO_KEY ? TEE_SUCCESS : res;
}

static void before_enrol(void)
{
	EXPECT(enrol_old(1, 5, 0, false), TEE_SUCCESS);
}

static TEE_Result enrol_keeping(void)
{
	TEE_Result res = enrol_old(11, 6, KEYCACHE_KEEP, false);

	/* It was at its end. */
	return res == KEYCACHE_OLD ? TEE_SUCCESS : res;
}

static void before_at_once(void)
{
	EXPECT(enrol_old(2, 4, 0, false), TEE_SUCCESS);
	EXPECT(enrol_old(1, 5, KEYCACHE_KEEP, false), TEE_SUCCESS);
}

static TEE_Result enrol_at_once(void)
{
	TEE_Result res = enrol_old(11, 6, KEYCACHE_KEEP, true);

	return res == KEYCACHE_OLD ? TEE_SUCCESS : res;
}

/* What was removed does not come again by its enrolment: neither does the key that is still there. */
static void check_serial(void)
{
	EXPECT(enrol_old(1, 5, 0, false), KEYCACHE_OLD);
	EXPECT(enrol_old(2, 4, 0, false), KEYCACHE_OLD);
}

static const struct action {
	const char *what;
	void (*before)(void);
	TEE_Result (*run)(void);
	void (*check)(void);
	unsigned int least;               /* steps */
	struct state states[MOST_STATES]; /* from before to afterwards; all of them are seen */
	unsigned int state_count;
} actions[] = {
	{ "KEEP", before_keep, keep, NULL, 8, { { 1, 0 }, { 1, 1 }, { 11, 1 } }, 3 },
	{ "KEEP, a key waits",
	  before_keep_waiting,
	  keep_waiting,
	  NULL,
	  16,
	  { { 2, 0 }, { 1, 0 }, { 1, 1 }, { 11, 1 } },
	  4 },
	{ "FORGET", before_forget, remove_previous, NULL, 4, { { 1, 2 }, { 1, 0 } }, 2 },
	{ "DELETE", before_forget, remove_both, NULL, 8, { { 1, 2 }, { 1, 0 }, { 0, 0 } }, 3 },
	{ "DELETE, enrolled", before_at_once, remove_both, check_serial, 12, { { 1, 2 }, { 1, 0 }, { 0, 0 } }, 3 },
	{ "ENROL", before_enrol, enrol_keeping, check_serial, 12, { { 1, 0 }, { 1, 1 }, { 11, 1 } }, 3 },
	{ "ENROL at once", before_at_once, enrol_at_once, check_serial, 12, { { 1, 2 }, { 1, 0 }, { 11, 0 } }, 3 },
};

static void begin(void)
{
	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
}

/* Runs a command until the power is cut; whether it was. */
static bool cut(TEE_Result (*run)(void), unsigned int step)
{
	bool was_cut;

	begin();
	shim_cut(step);
	(void)run();
	shim_cut(0);
	was_cut = exists("other") == TEE_ERROR_TARGET_DEAD;
	shim_crash();
	return was_cut;
}

static unsigned int cut_action(const struct action *action, const char *aside)
{
	unsigned int seen[MOST_STATES] = { 0 };
	unsigned int last = action->state_count - 1;
	bool was_cut = true;
	unsigned int step;
	unsigned int i;

	for (step = 1; was_cut; step++) {
		struct state found;

		remove_storage(folder());
		restore_storage(aside);
		keep_storage(aside);
		was_cut = cut(action->run, step);
		begin();
		found = state_of("old");
		for (i = 0; i <= last; i++)
			if (found.current == action->states[i].current && found.previous == action->states[i].previous)
				break;
		CHECK(i <= last && (was_cut || i == last));
		seen[i < last ? i : last]++;
		EXPECT(state_of("other").current, 3);
		EXPECT(stats().previous, found.previous != 0);
		EXPECT(stats().clients, 1u + (found.current != 0));
		if (action->check)
			action->check();
		/* Once more. */
		EXPECT(action->run(), TEE_SUCCESS);
		EXPECT(state_of("old").current, action->states[last].current);
		shim_stop();
	}
	for (i = 0; i <= last; i++)
		if (!seen[i])
			printf("%s: never key %u and before it %u\n", action->what, action->states[i].current,
			       action->states[i].previous);
	for (i = 0; i <= last; i++)
		CHECK(seen[i]);
	CHECK(step - 2 >= action->least);
	return step - 2;
}

static TEE_Result trust_it(void)
{
	struct keycache_trust first = authority_trust(NULL, &authority, 1);

	return trust(&first);
}

static TEE_Result generate_new(void)
{
	return generate("new", 32, KEYCACHE_NO_FROM, 0, records, &count);
}

/* The trust is there as a whole or not at all; the key is made or not. */
static unsigned int cut_others(const char *aside)
{
	static const struct keycache_identity nobody;
	bool was_cut = true;
	unsigned int cuts = 0;
	unsigned int step;

	for (step = 1; was_cut; step++, cuts += was_cut) {
		struct keycache_trust first = authority_trust(NULL, &authority, 1);
		struct keycache_identity shown;
		bool there;

		remove_storage(folder());
		restore_storage(aside);
		keep_storage(aside);
		was_cut = cut(trust_it, step);
		begin();
		shown = identity();
		CHECK(!memcmp(shown.ta, authority.ta, sizeof(shown.ta)));
		there = !memcmp(shown.signer, first.signer, 64) && !memcmp(shown.backup, first.backup, 64);
		CHECK(there || (!memcmp(shown.signer, nobody.signer, 64) && !memcmp(shown.backup, nobody.backup, 64)));
		CHECK(there || was_cut);
		EXPECT(trust_it(), there ? KEYCACHE_UNTRUSTED : TEE_SUCCESS);
		shim_stop();
	}
	CHECK(cuts >= 4);
	for (step = 1, was_cut = true; was_cut; step++, cuts += was_cut) {
		struct keycache_record sealed;

		remove_storage(folder());
		restore_storage(aside);
		keep_storage(aside);
		was_cut = cut(generate_new, step);
		begin();
		if (exists("new") == KEYCACHE_NO_KEY) {
			CHECK(was_cut);
			EXPECT(generate_new(), TEE_SUCCESS);
		}
		EXPECT(record("new", &sealed), TEE_SUCCESS);
		EXPECT(sealed.flags, KEYCACHE_NO_FROM);
		EXPECT(state_of("other").current, 3);
		shim_stop();
	}
	CHECK(cuts >= 8);
	return cuts;
}

/* A storage that a TA of version 1.1 left is taken over as a whole or not at all: its keys and records stay good. */
static unsigned int cut_take_over(const char *aside, const struct keycache_record *sealed)
{
	enum { FORMAT = 4, BYTES = 48 };
	const struct keycache_offer offer = offer_of(sealed);
	bool was_cut = true;
	unsigned int step;

	for (step = 1; was_cut; step++) {
		remove_storage(folder());
		restore_storage(aside);
		keep_storage(aside);
		forge("ree", "meta", FORMAT, 1);
		cut_object("ree", "meta", BYTES);
		CHECK(!shim_start(folder()));
		shim_cut(step);
		was_cut = configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0) == TEE_ERROR_TARGET_DEAD;
		shim_cut(0);
		shim_crash();
		begin();
		EXPECT(use("other", &offer), TEE_SUCCESS);
		EXPECT(state_of("other").current, 3);
		authority_free(&authority);
		authority_make(&authority);
		EXPECT(trust_it(), TEE_SUCCESS);
		EXPECT(enrol_old(1, 1, 0, false), TEE_SUCCESS);
		shim_stop();
	}
	CHECK(step - 2 >= 4);
	return step - 2;
}

void test_power_cuts_within_rights(void)
{
	struct keycache_record others;
	char aside[4096];
	unsigned int points = 0;
	unsigned int i;

	(void)snprintf(aside, sizeof(aside), "%s-aside", folder());
	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		remove_storage(folder());
		begin();
		authority_make(&authority);
		EXPECT(trust_it(), TEE_SUCCESS);
		EXPECT(set_as("other", 3, 0, 0, records, &count), TEE_SUCCESS);
		actions[i].before();
		shim_stop();
		keep_storage(aside);
		points += cut_action(&actions[i], aside);
		authority_free(&authority);
	}
	remove_storage(folder());
	begin();
	authority_make(&authority);
	EXPECT(set_as("other", 3, 0, 0, records, &count), TEE_SUCCESS);
	shim_stop();
	others = records[0];
	keep_storage(aside);
	points += cut_others(aside);
	points += cut_take_over(aside, &others);
	authority_free(&authority);
	remove_storage(aside);
	printf("     %u cuts\n", points);
}
