/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alice sends and bob receives; both are enrolled for relaying alone. Carol is enrolled and opens, dave is enrolled and can be got:
 * an authority may say so of its services. Mallory is whoever owns the normal world: she knows the keys that she sets.
 */
#include "attempts.h"

#include <stddef.h>

#include "authority.h"

#define SENDER (KEYCACHE_NO_SEAL | KEYCACHE_NO_OPEN | KEYCACHE_NO_TO | KEYCACHE_NAMED)
#define RECEIVER (KEYCACHE_NO_SEAL | KEYCACHE_NO_OPEN | KEYCACHE_NO_FROM)
#define EVERYBODY (~0u)
#define SECRET "what nobody on the way may read"
#define ALICE "KC1\5alice"
#define CAROL "KC1\5carol"

/* The numbers of their keys. */
enum { ALICES = 1, BOBS, CAROLS, DAVES, MALLORYS, ANOTHER };

static struct authority authority;
static struct authority mallory; /* as an authority of her own */
static EVP_PKEY *bobs_pair;
static uint64_t serial;
static unsigned int changed; /* a bit for each whose key an attempt, or its control, has changed */
static bool was_read;
static struct keycache_record records[2];
static struct keycache_handover handover;
static size_t count;
static size_t handed;
static struct text message; /* alice's */
static struct text out;
static void (*lose)(const char *id);

/* Notes if an output has what it must not: the text itself, or what a key that mallory knows opens. */
static void look(const char *aad)
{
	static struct text plain;
	uint8_t key[32];

	was_read |= out.size >= sizeof(SECRET) && memmem(out.bytes, out.size, SECRET, sizeof(SECRET)) != NULL;
	make_key(MALLORYS, key);
	if (out.size > KEYCACHE_EXTRA_BYTES && client_open_aad(key, 32, aad, strlen(aad), &out, &plain))
		was_read = true;
}

static void alice_sends(const char *aad)
{
	uint8_t key[32];

	make_key(ALICES, key);
	client_seal_aad(key, 32, aad, strlen(aad), SECRET, sizeof(SECRET), &message);
}

/* Whether `out` is the message under make_key's key of a number. */
static TEE_Result reaches(unsigned int number, const char *aad)
{
	static struct text plain;
	uint8_t key[32];

	make_key(number, key);
	return out.size > KEYCACHE_EXTRA_BYTES && client_open_aad(key, 32, aad, strlen(aad), &out, &plain) &&
			       plain.size == sizeof(SECRET) && !memcmp(plain.bytes, SECRET, sizeof(SECRET))
		       ? TEE_SUCCESS
		       : KEYCACHE_BAD_TAG;
}

static TEE_Result crypt(uint32_t command, const char *id, const char *aad, const void *in, size_t bytes)
{
	static uint8_t named[1 + 2 * KEYCACHE_ID_BYTES];
	size_t length = strlen(id) + 1;
	TEE_Param params[4] = { { .memref = { named, length + strlen(aad) } },
				{ .memref = { (void *)(uintptr_t)in, bytes } },
				{ .memref = { out.bytes, sizeof(out.bytes) } },
				{ .memref = { NULL, 0 } } };
	TEE_Result res;

	memcpy(named, id, length);
	memcpy(named + length, aad, strlen(aad));
	res = shim_invoke(command, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_IN), params);
	out.size = res ? 0 : params[2].memref.size;
	look(aad);
	return res;
}

static TEE_Result relay(const char *from, const char *to, const char *aad)
{
	static struct {
		struct keycache_pair pair;
		char aad[64];
	} words;
	bool before = (uint8_t)from[0] == KEYCACHE_PREVIOUS;
	TEE_Param params[4] = { { .memref = { &words, sizeof(words.pair) + strlen(aad) } },
				{ .memref = { message.bytes, message.size } },
				{ .memref = { out.bytes, sizeof(out.bytes) } } };
	TEE_Result res;

	memset(&words, 0, sizeof(words));
	words.pair.from_length = (uint8_t)(strlen(from) - before) | (before ? KEYCACHE_PREVIOUS : 0);
	words.pair.to_length = (uint8_t)strlen(to);
	memcpy(words.pair.from, from + before, strlen(from) - before);
	memcpy(words.pair.to, to, strlen(to));
	memcpy(words.aad, aad, strlen(aad));
	res = shim_invoke(KEYCACHE_REENCRYPT, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, VALUE_OUT), params);
	out.size = res ? 0 : params[2].memref.size;
	look(aad);
	return res;
}

/* To two; the first one's result, and its message in `out`. */
static TEE_Result fan(const char *from, const char *first, const char *second, const char *aad)
{
	static struct {
		struct keycache_fan fan;
		uint8_t rest[64 + 2 * sizeof(struct keycache_receiver)];
	} words;
	struct keycache_receiver receiver;
	const char *const names[] = { first, second };
	static uint8_t messages[1024];
	uint32_t results[2] = { KEYCACHE_MISS, KEYCACHE_MISS };
	size_t at = strlen(aad);
	TEE_Param params[4] = { { .memref = { &words, 0 } },
				{ .memref = { message.bytes, message.size } },
				{ .memref = { messages, sizeof(messages) } },
				{ .memref = { results, sizeof(results) } } };
	TEE_Result res;
	unsigned int i;

	memset(&words, 0, sizeof(words));
	words.fan = (struct keycache_fan){ .count = 2, .from_length = (uint8_t)strlen(from), .aad_size = (uint32_t)at };
	memcpy(words.fan.from, from, strlen(from));
	memcpy(words.rest, aad, at);
	for (i = 0; i < 2; i++) {
		receiver = (struct keycache_receiver){ .length = (uint8_t)strlen(names[i]) };
		memcpy(receiver.id, names[i], receiver.length);
		memcpy(words.rest + at, &receiver, sizeof(receiver));
		at += sizeof(receiver);
	}
	params[0].memref.size = sizeof(words.fan) + at;
	res = shim_invoke(KEYCACHE_FANOUT, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_OUT), params);
	out.size = 0;
	if (!res && !results[0]) {
		out.size = message.size;
		memcpy(out.bytes, messages, out.size);
	}
	look(aad);
	return res ? res : results[0];
}

static struct keycache_enrolment wrapped(const char *id, unsigned int number, uint8_t flags)
{
	struct keycache_enrolment enrolment = enrolment_of(&authority, id, flags, ++serial);

	authority_wrap(&authority, &enrolment, number);
	authority_sign(&authority, &enrolment);
	return enrolment;
}

static TEE_Result hand_in(const struct keycache_enrolment *enrolment, uint32_t how)
{
	return enrol(enrolment, how, records, &count, &handover, &handed);
}

static TEE_Result enrol_anew(const char *id, unsigned int number, uint8_t flags)
{
	struct keycache_enrolment enrolment = wrapped(id, number, flags);

	return hand_in(&enrolment, 0);
}

/* Everybody's keys as they are when an attempt begins, and in the TA's cache. */
static void lay_out(void)
{
	static const struct {
		const char *id;
		uint8_t flags;
		bool enrolled;
	} keys[] = {
		[ALICES] = { "alice", SENDER, true }, [BOBS] = { "bob", RECEIVER, true },
		[CAROLS] = { "carol", 0, true },      [DAVES] = { "dave", KEYCACHE_GETTABLE, true },
		[MALLORYS] = { "mallory", 0, false }, [ANOTHER] = { "another", 0, false },
	};
	struct keycache_record sealed;
	unsigned int i;

	for (i = ALICES; i <= ANOTHER; i++) {
		if (changed & 1u << i && keys[i].enrolled)
			EXPECT(enrol_anew(keys[i].id, i, keys[i].flags), TEE_SUCCESS);
		if (changed & 1u << i && !keys[i].enrolled) {
			/* Which may be enrolled by now. */
			(void)delete(keys[i].id);
			EXPECT(set_as(keys[i].id, i, 0, 0, records, &count), TEE_SUCCESS);
		}
		EXPECT(record(keys[i].id, &sealed), TEE_SUCCESS);
	}
	changed = 0;
}

/* Attempts with alice's and bob's keys. */

static TEE_Result open_alices(void)
{
	return crypt(KEYCACHE_OPEN, "alice", ALICE, message.bytes, message.size);
}

static TEE_Result open_carols(void)
{
	uint8_t key[32];
	TEE_Result res;

	make_key(CAROLS, key);
	client_seal_aad(key, 32, ALICE, strlen(ALICE), SECRET, sizeof(SECRET), &message);
	res = crypt(KEYCACHE_OPEN, "carol", ALICE, message.bytes, message.size);
	return !res && memcmp(out.bytes, SECRET, sizeof(SECRET)) != 0 ? KEYCACHE_BAD_TAG : res;
}

static TEE_Result open_bobs(void)
{
	TEE_Result res = relay("alice", "bob", ALICE);

	if (res)
		return TEE_SUCCESS;
	message = out;
	return crypt(KEYCACHE_OPEN, "bob", ALICE, message.bytes, message.size);
}

static TEE_Result get_key(const char *id, unsigned int number)
{
	uint8_t due[32];
	uint8_t key[32];
	size_t bytes;
	TEE_Result res = get(id, NULL, key, &bytes);

	make_key(number, due);
	was_read |= !res;
	return !res && (bytes != 32 || memcmp(key, due, 32) != 0) ? KEYCACHE_BAD_TAG : res;
}

static TEE_Result get_alices(void)
{
	return get_key("alice", ALICES);
}

static TEE_Result get_bobs(void)
{
	return get_key("bob", BOBS);
}

static TEE_Result get_daves(void)
{
	return get_key("dave", DAVES);
}

static TEE_Result configure_as(uint32_t flags)
{
	return configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 16384, flags, 0);
}

static TEE_Result get_after_switch(void)
{
	TEE_Result res = configure_as(0);

	if (!res)
		res = configure_as(KEYCACHE_ALLOW_GET);
	lay_out();
	return res ? res : get_alices();
}

static TEE_Result open_naive(void)
{
	TEE_Result res = configure_as(KEYCACHE_ALLOW_GET | KEYCACHE_NAIVE);

	if (!res)
		res = open_alices();
	EXPECT(configure_as(KEYCACHE_ALLOW_GET), TEE_SUCCESS);
	lay_out();
	return res;
}

static TEE_Result open_set_naive(void)
{
	static struct text plain;
	uint8_t key[32];
	TEE_Result res = configure_as(KEYCACHE_ALLOW_GET | KEYCACHE_NAIVE);

	make_key(MALLORYS, key);
	if (!res)
		res = set("mallory", key, 32, 0, records);
	client_seal(key, 32, SECRET, sizeof(SECRET), &plain);
	if (!res)
		res = open_message("mallory", NULL, &plain, &out);
	EXPECT(configure_as(KEYCACHE_ALLOW_GET), TEE_SUCCESS);
	lay_out();
	return res;
}

static TEE_Result seal_as_alice(void)
{
	return crypt(KEYCACHE_SEAL, "alice", ALICE, SECRET, sizeof(SECRET));
}

static TEE_Result seal_as_carol(void)
{
	TEE_Result res = crypt(KEYCACHE_SEAL, "carol", CAROL, SECRET, sizeof(SECRET));

	return res ? res : reaches(CAROLS, CAROL);
}

static TEE_Result relay_to_carol(void)
{
	return relay("alice", "carol", ALICE);
}

static TEE_Result relay_to_bob(void)
{
	TEE_Result res = relay("alice", "bob", ALICE);

	return res ? res : reaches(BOBS, ALICE);
}

static TEE_Result relay_to_dave(void)
{
	return relay("alice", "dave", ALICE);
}

static TEE_Result fan_to_carol(void)
{
	return fan("alice", "carol", "bob", ALICE);
}

static TEE_Result fan_to_bob(void)
{
	TEE_Result res = fan("alice", "bob", "carol", ALICE);

	return res ? res : reaches(BOBS, ALICE);
}

static TEE_Result relay_to_mallory(void)
{
	return relay("alice", "mallory", ALICE);
}

static TEE_Result anothers_to_mallory(void)
{
	uint8_t key[32];
	TEE_Result res;

	make_key(ANOTHER, key);
	client_seal_aad(key, 32, ALICE, strlen(ALICE), SECRET, sizeof(SECRET), &message);
	res = relay("another", "mallory", ALICE);
	return res ? res : reaches(MALLORYS, ALICE);
}

static TEE_Result fan_to_mallory(void)
{
	return fan("alice", "mallory", "bob", ALICE);
}

static TEE_Result relay_to_restricted(void)
{
	TEE_Result res = set_as("mallory", MALLORYS, 0, RECEIVER, records, &count);

	changed |= 1u << MALLORYS;
	return res ? TEE_SUCCESS : relay_to_mallory();
}

static TEE_Result anothers_to_restricted(void)
{
	TEE_Result res = set_as("mallory", MALLORYS, 0, RECEIVER, records, &count);

	changed |= 1u << MALLORYS;
	return res ? res : anothers_to_mallory();
}

static TEE_Result relay_to_generated(void)
{
	TEE_Result res = generate("mallory", 32, KEYCACHE_NO_FROM, 0, records, &count);

	changed |= 1u << MALLORYS;
	if (!res)
		res = relay_to_mallory();
	/* Which opens, if it got something. */
	if (!res) {
		message = out;
		res = crypt(KEYCACHE_OPEN, "mallory", ALICE, message.bytes, message.size);
	}
	return res;
}

static TEE_Result anothers_to_generated(void)
{
	uint8_t key[32];
	TEE_Result res = generate("mallory", 32, KEYCACHE_NO_FROM, 0, records, &count);

	changed |= 1u << MALLORYS;
	make_key(ANOTHER, key);
	client_seal_aad(key, 32, ALICE, strlen(ALICE), SECRET, sizeof(SECRET), &message);
	if (!res)
		res = relay("another", "mallory", ALICE);
	if (res)
		return res;
	message = out;
	res = crypt(KEYCACHE_OPEN, "mallory", ALICE, message.bytes, message.size);
	return !res && memcmp(out.bytes, SECRET, sizeof(SECRET)) != 0 ? KEYCACHE_BAD_TAG : res;
}

static TEE_Result onwards_from_bob(void)
{
	TEE_Result res = relay_to_bob();

	if (res)
		return TEE_SUCCESS;
	message = out;
	return relay("bob", "carol", ALICE);
}

static TEE_Result onwards_from_carol(void)
{
	uint8_t key[32];
	TEE_Result res;

	make_key(CAROLS, key);
	client_seal_aad(key, 32, ALICE, strlen(ALICE), SECRET, sizeof(SECRET), &message);
	res = relay("carol", "bob", ALICE);
	return res ? res : reaches(BOBS, ALICE);
}

/* A message of carol's, in alice's name; and alice's, in carol's. */
static TEE_Result in_carols_name(void)
{
	alice_sends(CAROL);
	return relay("alice", "bob", CAROL);
}

static TEE_Result fan_in_carols_name(void)
{
	alice_sends(CAROL);
	return fan("alice", "bob", "carol", CAROL);
}

static TEE_Result without_a_name(void)
{
	alice_sends("");
	return relay("alice", "bob", "");
}

/* Keys in the place of others. */

static TEE_Result set_in_place(const char *id, uint32_t how)
{
	TEE_Result res = set_as(id, MALLORYS, how, 0, records, &count);

	if (!res)
		(void)relay("alice", id, ALICE);
	return res;
}

static TEE_Result set_as_alice(void)
{
	return set_in_place("alice", 0);
}

static TEE_Result set_as_bob(void)
{
	return set_in_place("bob", 0);
}

static TEE_Result set_bob_relaxed(void)
{
	return set_in_place("bob", KEYCACHE_RELAXED);
}

static TEE_Result set_bob_keeping(void)
{
	return set_in_place("bob", KEYCACHE_KEEP);
}

static TEE_Result generate_as_bob(void)
{
	return generate("bob", 32, 0, 0, records, &count);
}

static TEE_Result set_as_mallory(void)
{
	return set_as("mallory", MALLORYS, 0, 0, records, &count);
}

static TEE_Result set_mallory_relaxed(void)
{
	return set_as("mallory", MALLORYS, KEYCACHE_RELAXED, 0, records, &count);
}

static TEE_Result set_mallory_keeping(void)
{
	changed |= 1u << MALLORYS;
	return set_as("mallory", MALLORYS, KEYCACHE_KEEP, 0, records, &count);
}

static TEE_Result generate_as_mallory(void)
{
	changed |= 1u << MALLORYS;
	return generate("mallory", 32, 0, 0, records, &count);
}

static TEE_Result set_after_delete(void)
{
	TEE_Result res = delete("bob");

	changed |= 1u << BOBS;
	if (!res)
		res = set_as("bob", MALLORYS, 0, RECEIVER, records, &count);
	return res ? TEE_SUCCESS : relay("alice", "bob", ALICE);
}

static TEE_Result enrol_after_delete(void)
{
	TEE_Result res = delete("bob");

	changed |= 1u << BOBS;
	if (!res)
		res = enrol_anew("bob", BOBS, RECEIVER);
	return res ? res : relay_to_bob();
}

/* Enrolments. */

/* What mallory would do with an enrolment that was taken. */
static TEE_Result use_enrolled(TEE_Result res, const char *id)
{
	if (!res || !strcmp(id, "bob"))
		changed |= 1u << MALLORYS | 1u << BOBS;
	if (!res)
		(void)relay("alice", id, ALICE);
	return res;
}

static TEE_Result enrol_by_herself(void)
{
	struct keycache_enrolment enrolment = enrolment_of(&mallory, "mallory", RECEIVER, ++serial);

	authority_wrap(&mallory, &enrolment, MALLORYS);
	authority_sign(&mallory, &enrolment);
	return use_enrolled(hand_in(&enrolment, 0), "mallory");
}

static TEE_Result enrol_by_authority(void)
{
	struct keycache_enrolment enrolment = wrapped("mallory", MALLORYS, RECEIVER);
	TEE_Result res = hand_in(&enrolment, 0);

	/* Who is given a key by the authority reads what is for her. */
	changed |= 1u << MALLORYS;
	if (!res)
		res = relay("alice", "mallory", ALICE);
	return res ? res : reaches(MALLORYS, ALICE);
}

static TEE_Result enrol_without_signature(void)
{
	struct keycache_enrolment enrolment = wrapped("mallory", MALLORYS, RECEIVER);

	memset(enrolment.signature, 0, sizeof(enrolment.signature));
	return use_enrolled(hand_in(&enrolment, 0), "mallory");
}

static TEE_Result change_flags(void)
{
	struct keycache_enrolment enrolment = wrapped("alice", ALICES, SENDER);

	enrolment.flags &= (uint8_t)~KEYCACHE_NO_OPEN;
	return hand_in(&enrolment, 0) ? KEYCACHE_UNTRUSTED : open_alices();
}

static TEE_Result sign_flags(void)
{
	TEE_Result res = enrol_anew("alice", ALICES, SENDER & (uint8_t)~KEYCACHE_NO_OPEN);

	changed |= 1u << ALICES;
	if (!res)
		res = open_alices();
	return !res && memcmp(out.bytes, SECRET, sizeof(SECRET)) != 0 ? KEYCACHE_BAD_TAG : res;
}

static TEE_Result change_client(void)
{
	/* Bob's, whose key mallory would know if it were hers. */
	struct keycache_enrolment enrolment = wrapped("dave", MALLORYS, RECEIVER);

	memset(enrolment.id, 0, sizeof(enrolment.id));
	memcpy(enrolment.id, "mallory", 7);
	enrolment.id_length = 7;
	return use_enrolled(hand_in(&enrolment, 0), "mallory");
}

static TEE_Result change_key(void)
{
	struct keycache_enrolment enrolment = wrapped("bob", BOBS, RECEIVER);
	struct keycache_enrolment hers = enrolment;

	/* With her own sealed for the TA's point, which she knows. */
	authority_wrap(&authority, &hers, MALLORYS);
	memcpy(hers.signature, enrolment.signature, sizeof(hers.signature));
	return use_enrolled(hand_in(&hers, 0), "bob");
}

static TEE_Result enrol_bob(void)
{
	TEE_Result res = enrol_anew("bob", BOBS, RECEIVER);

	return res ? res : relay_to_bob();
}

static TEE_Result change_serial(void)
{
	struct keycache_enrolment old = wrapped("bob", MALLORYS, RECEIVER);

	EXPECT(hand_in(&old, 0), TEE_SUCCESS);
	EXPECT(enrol_anew("bob", BOBS, RECEIVER), TEE_SUCCESS);
	old.serial = serial + 1;
	return use_enrolled(hand_in(&old, 0), "bob");
}

/* An enrolment of before, of which mallory has the key by now. */

static struct keycache_enrolment outdated(void)
{
	struct keycache_enrolment old = wrapped("bob", MALLORYS, RECEIVER);

	EXPECT(hand_in(&old, 0), TEE_SUCCESS);
	EXPECT(enrol_anew("bob", BOBS, RECEIVER), TEE_SUCCESS);
	return old;
}

static TEE_Result replay(void)
{
	struct keycache_enrolment old = outdated();

	return use_enrolled(hand_in(&old, 0), "bob");
}

static TEE_Result replay_after_delete(void)
{
	struct keycache_enrolment old = outdated();

	EXPECT(delete("bob"), TEE_SUCCESS);
	return use_enrolled(hand_in(&old, 0), "bob");
}

static TEE_Result replay_held_back(void)
{
	struct keycache_enrolment old = wrapped("bob", MALLORYS, RECEIVER);

	/* It never got to the TA; the authority has signed another one since. */
	EXPECT(enrol_anew("bob", BOBS, RECEIVER), TEE_SUCCESS);
	EXPECT(delete("bob"), TEE_SUCCESS);
	return use_enrolled(hand_in(&old, 0), "bob");
}

static TEE_Result replay_after_set(void)
{
	struct keycache_enrolment old = outdated();

	EXPECT(delete("bob"), TEE_SUCCESS);
	EXPECT(set_as("bob", ANOTHER, 0, 0, records, &count), TEE_SUCCESS);
	return use_enrolled(hand_in(&old, 0), "bob");
}

static TEE_Result replay_in_next_life(void)
{
	struct keycache_enrolment old = outdated();

	EXPECT(delete("bob"), TEE_SUCCESS);
	/* Another storage, and back: everything is read anew. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 16384, KEYCACHE_ALLOW_GET | KEYCACHE_NAIVE, 0),
	       TEE_SUCCESS);
	EXPECT(configure_as(KEYCACHE_ALLOW_GET), TEE_SUCCESS);
	return use_enrolled(hand_in(&old, 0), "bob");
}

static TEE_Result replay_after_loss(void)
{
	struct keycache_enrolment old = outdated();
	uint32_t repaired;

	lose("bob");
	EXPECT(configure_as(KEYCACHE_ALLOW_GET), TEE_SUCCESS);
	EXPECT(repair(&repaired), TEE_SUCCESS);
	EXPECT(repaired, 1);
	return use_enrolled(hand_in(&old, 0), "bob");
}

static TEE_Result enrol_after_loss(void)
{
	uint32_t repaired;
	TEE_Result res;

	lose("bob");
	EXPECT(configure_as(KEYCACHE_ALLOW_GET), TEE_SUCCESS);
	EXPECT(repair(&repaired), TEE_SUCCESS);
	res = enrol_anew("bob", BOBS, RECEIVER);
	/* Whoever was in that bucket. */
	changed = EVERYBODY;
	lay_out();
	return res ? res : relay_to_bob();
}

static TEE_Result enrol_for_another_device(void)
{
	struct authority other = authority;
	struct keycache_enrolment enrolment;

	/* Signed by the same authority, for a device that mallory has at home, and whose keys she has taken. */
	point_of(mallory.signer, other.ta);
	enrolment = enrolment_of(&other, "mallory", RECEIVER, ++serial);
	authority_wrap(&authority, &enrolment, MALLORYS);
	authority_sign(&authority, &enrolment);
	return use_enrolled(hand_in(&enrolment, 0), "mallory");
}

/* Trust. */

static TEE_Result take_over(const struct keycache_trust *statement)
{
	struct keycache_enrolment enrolment = enrolment_of(&mallory, "mallory", RECEIVER, ++serial);
	TEE_Result res = trust(statement);

	authority_wrap(&mallory, &enrolment, MALLORYS);
	authority_sign(&mallory, &enrolment);
	return res ? res : use_enrolled(hand_in(&enrolment, 0), "mallory");
}

static TEE_Result trust_unsigned(void)
{
	struct keycache_trust statement = authority_trust(NULL, &mallory, ++serial);

	return take_over(&statement);
}

static TEE_Result trust_herself(void)
{
	struct keycache_trust statement = authority_trust(&mallory, &mallory, ++serial);

	return take_over(&statement);
}

static TEE_Result trust_changed(void)
{
	struct keycache_trust statement = authority_trust(&authority, &authority, ++serial);

	point_of(mallory.backup, statement.backup);
	return take_over(&statement);
}

static TEE_Result trust_by_authority(void)
{
	struct keycache_trust statement = authority_trust(&authority, &authority, ++serial);

	return trust(&statement);
}

/* Keys on their way. */

/* Tries to open a wrapped key with a pair: the client's way to open what is handed over is the same. */
static TEE_Result unwrap_on_the_way(void)
{
	struct keycache_enrolment enrolment = wrapped("bob", BOBS, RECEIVER);
	uint8_t key[32];

	if (authority_unwraps(mallory.signer, &enrolment, key)) {
		was_read = true;
		return TEE_SUCCESS;
	}
	return KEYCACHE_FORGED;
}

static TEE_Result unwrap_own(void)
{
	struct authority other = authority;
	struct keycache_enrolment enrolment;
	uint8_t key[32];

	point_of(mallory.signer, other.ta);
	enrolment = enrolment_of(&other, "bob", RECEIVER, ++serial);
	authority_wrap(&other, &enrolment, BOBS);
	return authority_unwraps(mallory.signer, &enrolment, key) ? TEE_SUCCESS : KEYCACHE_FORGED;
}

/* What the authority gave up on: a wrapped key under another name, so that the TA opens it for her. */
static TEE_Result rewrap(void)
{
	struct keycache_enrolment enrolment = wrapped("bob", BOBS, RECEIVER);

	memset(enrolment.id, 0, sizeof(enrolment.id));
	memcpy(enrolment.id, "mallory", 7);
	enrolment.id_length = 7;
	enrolment.flags = KEYCACHE_ENROLLED | KEYCACHE_GETTABLE;
	authority_sign(&mallory, &enrolment);
	return use_enrolled(hand_in(&enrolment, 0), "mallory");
}

static TEE_Result read_backup(const struct authority *by)
{
	static uint8_t room[sizeof(struct keycache_backup) + 64 * sizeof(struct keycache_saved)];
	const struct keycache_backup *part = (const struct keycache_backup *)(void *)room;
	const struct keycache_saved *saved = (const struct keycache_saved *)(const void *)(part + 1);
	uint32_t position = 0;
	unsigned int opened = 0;
	uint8_t due[32];
	uint8_t key[32];
	TEE_Result res;

	make_key(ALICES, due);
	do {
		size_t bytes = sizeof(room);
		uint32_t i;

		res = backup(&position, room, &bytes);
		for (i = 0; !res && i < part->count; i++)
			opened += authority_opens(by, part, &saved[i], key) && !memcmp(key, due, 32);
	} while (!res && position);
	if (res)
		return res;
	was_read |= opened;
	return opened ? TEE_SUCCESS : KEYCACHE_FORGED;
}

static TEE_Result backup_by_mallory(void)
{
	struct authority hers = mallory;

	memcpy(hers.ta, authority.ta, sizeof(hers.ta));
	return read_backup(&hers);
}

static TEE_Result backup_by_authority(void)
{
	return read_backup(&authority);
}

static TEE_Result hand_over_to_herself(void)
{
	struct keycache_enrolment enrolment = enrolment_of(&authority, "bob", RECEIVER, ++serial);
	uint8_t key[32];
	TEE_Result res;

	authority_let_generate(&enrolment, bobs_pair);
	authority_sign(&authority, &enrolment);
	point_of(mallory.signer, enrolment.point);
	res = hand_in(&enrolment, 0);
	was_read |= !res && client_takes(mallory.signer, &enrolment, &handover, key);
	return res;
}

static TEE_Result hand_over_read(void)
{
	struct keycache_enrolment enrolment = enrolment_of(&authority, "bob", RECEIVER, ++serial);
	uint8_t key[32];
	TEE_Result res;

	authority_let_generate(&enrolment, bobs_pair);
	authority_sign(&authority, &enrolment);
	res = hand_in(&enrolment, 0);
	changed |= 1u << BOBS;
	if (res || handed != sizeof(handover))
		return TEE_SUCCESS;
	was_read |= client_takes(mallory.signer, &enrolment, &handover, key);
	return was_read ? TEE_SUCCESS : KEYCACHE_FORGED;
}

static TEE_Result hand_over_to_bob(void)
{
	static struct text plain;
	struct keycache_enrolment enrolment = enrolment_of(&authority, "bob", RECEIVER, ++serial);
	uint8_t key[32];
	TEE_Result res;

	authority_let_generate(&enrolment, bobs_pair);
	authority_sign(&authority, &enrolment);
	res = hand_in(&enrolment, 0);
	changed |= 1u << BOBS;
	if (!res && !client_takes(bobs_pair, &enrolment, &handover, key))
		res = KEYCACHE_FORGED;
	if (!res)
		res = relay("alice", "bob", ALICE);
	if (!res && !client_open_aad(key, 32, ALICE, strlen(ALICE), &out, &plain))
		res = KEYCACHE_BAD_TAG;
	return res;
}

/* A key of hers for bob, as if the TA had made it: what bob sends with it she reads. */
static TEE_Result hand_over_hers(void)
{
	struct keycache_enrolment enrolment = enrolment_of(&authority, "bob", RECEIVER, ++serial);
	uint8_t key[32];

	authority_let_generate(&enrolment, bobs_pair);
	authority_sign(&authority, &enrolment);
	client_is_given(mallory.signer, bobs_pair, &enrolment, MALLORYS, &handover);
	if (!client_takes(bobs_pair, &enrolment, &handover, key))
		return KEYCACHE_FORGED;
	was_read = true;
	return TEE_SUCCESS;
}

/* Records. */

static TEE_Result open_with(const struct keycache_record *offered)
{
	struct keycache_offer offer = offer_of(offered);
	TEE_Result res;

	(void)evict("alice");
	res = load("alice", &offer);
	return res ? res : open_alices();
}

static TEE_Result record_flags(void)
{
	struct keycache_record sealed;
	TEE_Result res = record("alice", &sealed);

	sealed.flags &= (uint8_t)~KEYCACHE_NO_OPEN;
	changed |= 1u << ALICES;
	return res ? TEE_SUCCESS : open_with(&sealed);
}

static TEE_Result record_of_before(void)
{
	struct keycache_record sealed;

	EXPECT(enrol_anew("alice", ALICES, 0), TEE_SUCCESS);
	EXPECT(record("alice", &sealed), TEE_SUCCESS);
	EXPECT(enrol_anew("alice", ALICES, SENDER), TEE_SUCCESS);
	changed |= 1u << ALICES;
	return open_with(&sealed);
}

static TEE_Result record_of_carol(void)
{
	struct keycache_record sealed;

	EXPECT(record("carol", &sealed), TEE_SUCCESS);
	changed |= 1u << ALICES;
	return open_with(&sealed);
}

static TEE_Result record_of_now(void)
{
	struct keycache_record sealed;

	EXPECT(enrol_anew("alice", ALICES, 0), TEE_SUCCESS);
	EXPECT(record("alice", &sealed), TEE_SUCCESS);
	changed |= 1u << ALICES;
	return open_with(&sealed);
}

/* Previous keys. */

static TEE_Result open_previous(void)
{
	struct keycache_enrolment next = wrapped("alice", ANOTHER, 0);

	changed |= 1u << ALICES;
	EXPECT(hand_in(&next, KEYCACHE_KEEP), TEE_SUCCESS);
	EXPECT(count, 2);
	EXPECT(load(previous("alice"), &(struct keycache_offer){ .record = records[1] }), TEE_SUCCESS);
	return crypt(KEYCACHE_OPEN, previous("alice"), ALICE, message.bytes, message.size);
}

static TEE_Result relay_previous(void)
{
	struct keycache_enrolment next = wrapped("alice", ANOTHER, 0);
	TEE_Result res;

	changed |= 1u << ALICES;
	EXPECT(hand_in(&next, KEYCACHE_KEEP), TEE_SUCCESS);
	EXPECT(load(previous("alice"), &(struct keycache_offer){ .record = records[1] }), TEE_SUCCESS);
	res = relay(previous("alice"), "bob", ALICE);
	return res ? res : reaches(BOBS, ALICE);
}

static TEE_Result keep_at_once(void)
{
	struct keycache_enrolment next = enrolment_of(&authority, "alice", SENDER, ++serial);
	TEE_Result res;

	next.at_once = 1;
	authority_wrap(&authority, &next, ANOTHER);
	authority_sign(&authority, &next);
	changed |= 1u << ALICES;
	EXPECT(hand_in(&next, KEYCACHE_KEEP), TEE_SUCCESS);
	res = relay(previous("alice"), "bob", ALICE);
	was_read |= !res;
	return res;
}

static const struct attempt attempts[] = {
	{ "open alice's message", "OPEN alice", open_alices, "OPEN by a key for it", open_carols },
	{ "open bob's copy of it", "REENCRYPT alice bob, OPEN bob", open_bobs, "OPEN by a key for it", open_carols },
	{ "get alice's key", "GET alice", get_alices, "GET of a key for it", get_daves },
	{ "get bob's key", "GET bob", get_bobs, "GET of a key for it", get_daves },
	{ "switch GET off and on", "CONFIGURE, GET alice", get_after_switch, "GET of a key for it", get_daves },
	{ "use the design without records", "CONFIGURE naive, OPEN alice", open_naive, "OPEN of a key that was set so",
	  open_set_naive },
	{ "seal in alice's name", "SEAL alice", seal_as_alice, "SEAL by a key for it", seal_as_carol },
	{ "relay to a key that opens", "REENCRYPT alice carol", relay_to_carol, "REENCRYPT alice bob", relay_to_bob },
	{ "relay to a key that can be got", "REENCRYPT alice dave", relay_to_dave, "REENCRYPT alice bob",
	  relay_to_bob },
	{ "the same by a fan-out", "FANOUT alice carol bob", fan_to_carol, "FANOUT alice bob carol", fan_to_bob },
	{ "relay to a key that she set", "REENCRYPT alice mallory", relay_to_mallory, "from a key that was set",
	  anothers_to_mallory },
	{ "the same by a fan-out", "FANOUT alice mallory bob", fan_to_mallory, "FANOUT alice bob carol", fan_to_bob },
	{ "relay to a key that she restricted", "SET mallory as bob's, REENCRYPT", relay_to_restricted,
	  "from a key that was set", anothers_to_restricted },
	{ "relay to a key that the TA made for her", "GENERATE mallory, REENCRYPT", relay_to_generated,
	  "from a key that was set", anothers_to_generated },
	{ "relay bob's copy onwards", "REENCRYPT bob carol", onwards_from_bob, "REENCRYPT carol bob",
	  onwards_from_carol },
	{ "relay it in another's name", "REENCRYPT alice bob, named carol", in_carols_name, "named alice",
	  relay_to_bob },
	{ "the same by a fan-out", "FANOUT alice bob carol, named carol", fan_in_carols_name, "named alice",
	  fan_to_bob },
	{ "relay it without a name", "REENCRYPT alice bob, no name", without_a_name, "named alice", relay_to_bob },
	{ "set a key in alice's place", "SET alice", set_as_alice, "SET mallory", set_as_mallory },
	{ "set a key in bob's place", "SET bob", set_as_bob, "SET mallory", set_as_mallory },
	{ "the same, relaxed", "SET bob, relaxed", set_bob_relaxed, "SET mallory, relaxed", set_mallory_relaxed },
	{ "the same, keeping bob's", "SET bob, KEEP", set_bob_keeping, "SET mallory, KEEP", set_mallory_keeping },
	{ "make a key in bob's place", "GENERATE bob", generate_as_bob, "GENERATE mallory", generate_as_mallory },
	{ "remove bob's key and set one", "DELETE bob, SET bob, REENCRYPT", set_after_delete,
	  "DELETE bob, ENROL bob, REENCRYPT", enrol_after_delete },
	{ "enrol a key of her own", "ENROL mallory, signed by herself", enrol_by_herself, "signed by the authority",
	  enrol_by_authority },
	{ "enrol it without a signature", "ENROL mallory, signature of zeros", enrol_without_signature,
	  "signed by the authority", enrol_by_authority },
	{ "take a restriction out", "ENROL alice, flags changed", change_flags, "flags signed so", sign_flags },
	{ "put her name into another's", "ENROL dave's as mallory", change_client, "signed for mallory",
	  enrol_by_authority },
	{ "put her key into bob's", "ENROL bob, another wrapped key", change_key, "ENROL bob, unchanged", enrol_bob },
	{ "make an old one newer", "ENROL bob's old one, serial changed", change_serial, "ENROL bob, unchanged",
	  enrol_bob },
	{ "play an old one again", "ENROL bob's old one", replay, "ENROL bob, a newer one", enrol_bob },
	{ "the same after DELETE", "DELETE bob, ENROL the old one", replay_after_delete,
	  "DELETE bob, ENROL a newer one", enrol_after_delete },
	{ "one that she held back", "DELETE bob, ENROL it", replay_held_back, "DELETE bob, ENROL a newer one",
	  enrol_after_delete },
	{ "the same after a SET", "DELETE, SET bob, ENROL the old one", replay_after_set,
	  "DELETE bob, ENROL a newer one", enrol_after_delete },
	{ "the same in the TA's next life", "DELETE bob, CONFIGURE twice, ENROL", replay_in_next_life,
	  "DELETE bob, ENROL a newer one", enrol_after_delete },
	{ "use one for another device", "ENROL mallory, for another point", enrol_for_another_device,
	  "for this TA's point", enrol_by_authority },
	{ "become the authority", "TRUST mallory, unsigned", trust_unsigned, "signed by the authority",
	  trust_by_authority },
	{ "become it by her own word", "TRUST mallory, signed by herself", trust_herself, "signed by the authority",
	  trust_by_authority },
	{ "have backups for herself", "TRUST, backup point changed", trust_changed, "unchanged", trust_by_authority },
	{ "read a wrapped key on its way", "(her pair, ENROL bob)", unwrap_on_the_way, "wrapped for her pair",
	  unwrap_own },
	{ "have the TA unwrap it for her", "ENROL bob's key as mallory", rewrap, "signed for mallory",
	  enrol_by_authority },
	{ "read a backup", "BACKUP (her pair)", backup_by_mallory, "the authority's pair", backup_by_authority },
	{ "have a made key handed to herself", "ENROL bob, point changed", hand_over_to_herself, "bob's point",
	  hand_over_to_bob },
	{ "read what is handed to bob", "ENROL bob (her pair)", hand_over_read, "bob's pair", hand_over_to_bob },
	{ "hand bob a key of hers", "(sealed for bob's point)", hand_over_hers, "by the TA", hand_over_to_bob },
	{ "change a record's flags", "LOAD alice, OPEN alice", record_flags, "an unchanged one that opens",
	  record_of_now },
	{ "bring a record of before", "LOAD alice, OPEN alice", record_of_before, "the current one, that opens",
	  record_of_now },
	{ "bring another's record", "LOAD carol's as alice, OPEN alice", record_of_carol, "alice's own, that opens",
	  record_of_now },
	{ "open with a previous key", "ENROL alice, KEEP, OPEN the previous", open_previous, "REENCRYPT from it",
	  relay_previous },
	{ "keep a key that must go at once", "ENROL alice at once, KEEP, REENCRYPT", keep_at_once, "not at once",
	  relay_previous },
	/* Where a bucket can be lost: the last one. */
	{ "play an old one after REPAIR", "bob's bucket lost, REPAIR, ENROL", replay_after_loss,
	  "REPAIR, ENROL a newer one", enrol_after_loss },
};

unsigned int attempts_count(bool with_loss)
{
	return sizeof(attempts) / sizeof(attempts[0]) - !with_loss;
}

bool attempt_holds(const struct outcome *outcome)
{
	return outcome->answer && !outcome->read && !outcome->control;
}

/* As in keycache_ta.h, or hexadecimal. */
static const char *result_name(TEE_Result result)
{
	static const struct {
		TEE_Result result;
		const char *name;
	} names[] = {
		{ TEE_SUCCESS, "SUCCESS" },
		{ KEYCACHE_MISS, "MISS" },
		{ KEYCACHE_STALE, "STALE" },
		{ KEYCACHE_FORGED, "FORGED" },
		{ KEYCACHE_NO_KEY, "NO_KEY" },
		{ KEYCACHE_BAD_TAG, "BAD_TAG" },
		{ KEYCACHE_GET_OFF, "GET_OFF" },
		{ KEYCACHE_USE_DENIED, "USE_DENIED" },
		{ KEYCACHE_IS_ENROLLED, "IS_ENROLLED" },
		{ KEYCACHE_UNTRUSTED, "UNTRUSTED" },
		{ KEYCACHE_OLD, "OLD" },
		{ TEE_ERROR_BAD_PARAMETERS, "BAD_PARAMETERS" },
	};
	static char other[12];
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].result == result)
			return names[i].name;
	(void)snprintf(other, sizeof(other), "0x%08x", result);
	return other;
}

void attempt_print(const struct outcome *outcome)
{
	const struct attempt *attempt = outcome->attempt;
	/* It has one place for what has no name. */
	char answer[32];

	(void)snprintf(answer, sizeof(answer), "%s", result_name(outcome->answer));
	printf("| %s | %s | %s | %s | %s: %s |\n", attempt->what, attempt->sent, answer,
	       outcome->answer && !outcome->read ? "yes" : "**no**", attempt->control, result_name(outcome->control));
}

static void begin_attempt(void)
{
	lay_out();
	was_read = false;
	alice_sends(ALICE);
}

unsigned int attempts_make(void (*tell)(const struct outcome *outcome), void (*lose_bucket)(const char *id))
{
	static TEE_Result controls[sizeof(attempts) / sizeof(attempts[0])];
	struct keycache_trust first;
	unsigned int holding = 0;
	unsigned int first_with;
	unsigned int i;

	lose = lose_bucket;
	serial = 0;
	EXPECT(configure_as(KEYCACHE_ALLOW_GET), TEE_SUCCESS);
	authority_make(&authority);
	authority_make(&mallory);
	bobs_pair = new_pair();
	first = authority_trust(NULL, &authority, ++serial);
	EXPECT(trust(&first), TEE_SUCCESS);
	changed = EVERYBODY;
	for (i = 0; i < attempts_count(lose_bucket != NULL); i++) {
		struct outcome outcome = { .attempt = &attempts[i] };

		begin_attempt();
		outcome.answer = attempts[i].run();
		outcome.read = was_read;
		/* What is the control of several is made once. */
		for (first_with = 0; attempts[first_with].run_control != attempts[i].run_control; first_with++)
			;
		if (first_with == i) {
			begin_attempt();
			controls[i] = attempts[i].run_control();
		}
		outcome.control = controls[first_with];
		holding += attempt_holds(&outcome);
		tell(&outcome);
	}
	EVP_PKEY_free(bobs_pair);
	authority_free(&authority);
	authority_free(&mallory);
	return holding;
}
