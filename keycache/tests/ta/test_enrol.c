/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom the TA trusts, what it takes of an authority, and what it gives to it. */
#include <openssl/bn.h>
#include <openssl/rand.h>
#include <stddef.h>
#include <stdlib.h>

#include "attempts.h"
#include "authority.h"
#include "curve.h"

static struct authority authority;
static struct keycache_record records[2];
static struct keycache_handover handover;
static struct text message;
static struct text other;
static struct text plain;
static size_t count;
static size_t handed;

static void begin(uint32_t flags)
{
	struct keycache_trust first;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, flags);
	authority_make(&authority);
	first = authority_trust(NULL, &authority, 1);
	EXPECT(trust(&first), TEE_SUCCESS);
}

static TEE_Result enrol_number(const char *id, unsigned int number, uint8_t flags, uint64_t serial)
{
	return authority_enrol(&authority, id, number, flags, serial, 0);
}

/* Whether it would be taken is said before, and nothing done: what a statement does not decide is the key in it, and the storage. */
static TEE_Result enrol_it(const struct keycache_enrolment *enrolment)
{
	const unsigned int writes = shim_counts.writes;
	TEE_Result verified = enrol(enrolment, KEYCACHE_VERIFY, records, &count, &handover, &handed);
	TEE_Result res;

	EXPECT(shim_counts.writes, writes);
	CHECK(!count && !handed);
	res = enrol(enrolment, 0, records, &count, &handover, &handed);
	CHECK(verified == res || (!verified && (res == KEYCACHE_FORGED || res == TEE_ERROR_STORAGE_NO_SPACE)));
	return res;
}

void test_curve(void)
{
	static const uint8_t order[] = { 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
					 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
					 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51 };
	/* p, and so the x of no point, although it is 0 modulo p; and y of the point with x = 0. */
	static const char prime[] = "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF";
	static const char y_of_0[] = "66485C780E2F83D72433BD5D84A06BB6541C2AF31DAE871728BF856A174F93F4";
	uint8_t point[KEYCACHE_POINT_BYTES];
	uint8_t pair[KEYCACHE_SIGNATURE_BYTES];
	BIGNUM *number = NULL;
	unsigned int run;
	unsigned int bit;

	for (run = 0; run < 200; run++) {
		EVP_PKEY *key = new_pair();

		point_of(key, point);
		CHECK(curve_has(point));
		bit = pick(512);
		point[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(!curve_has(point));
		EVP_PKEY_free(key);
	}
	memset(point, 0, sizeof(point));
	CHECK(!curve_has(point));
	memset(point, 0xff, sizeof(point));
	CHECK(!curve_has(point));
	memset(point, 0, sizeof(point));
	CHECK(BN_hex2bn(&number, y_of_0) && BN_bn2binpad(number, point + 32, 32) == 32);
	CHECK(curve_has(point));
	CHECK(BN_hex2bn(&number, prime) && BN_bn2binpad(number, point, 32) == 32);
	CHECK(!curve_has(point));
	BN_free(number);

	for (run = 0; run < 2; run++) {
		memset(pair, 1, sizeof(pair));
		CHECK(curve_may_sign(pair));
		memset(pair + run * 32, 0, 32);
		CHECK(!curve_may_sign(pair));
		memcpy(pair + run * 32, order, 32);
		CHECK(!curve_may_sign(pair));
		pair[run * 32 + 31]--;
		CHECK(curve_may_sign(pair));
		memset(pair + run * 32, 0xff, 32);
		CHECK(!curve_may_sign(pair));
	}
}

void test_trust(void)
{
	struct authority next;
	struct authority stranger;
	struct keycache_identity shown;
	struct keycache_trust first;
	struct keycache_trust statement;
	uint32_t position = 0;
	uint8_t room[sizeof(struct keycache_backup) + sizeof(struct keycache_saved)];
	size_t bytes = sizeof(room);

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	shown = identity();
	CHECK(curve_has(shown.ta) && !shown.signer[0] && !memcmp(shown.signer, shown.signer + 1, 127));
	authority_make(&authority);
	authority_make(&next);
	authority_make(&stranger);
	EXPECT(enrol_number("car", 1, 0, 1), KEYCACHE_UNTRUSTED);
	EXPECT(backup(&position, room, &bytes), KEYCACHE_UNTRUSTED);

	first = authority_trust(NULL, &authority, 5);
	statement = first;
	statement.format = 2;
	EXPECT(trust(&statement), TEE_ERROR_BAD_PARAMETERS);
	statement = first;
	statement.reserved[6] = 1;
	EXPECT(trust(&statement), TEE_ERROR_BAD_PARAMETERS);
	statement = first;
	statement.signer[3] ^= 1;
	EXPECT(trust(&statement), TEE_ERROR_BAD_PARAMETERS);
	statement = first;
	statement.backup[3] ^= 1;
	EXPECT(trust(&statement), TEE_ERROR_BAD_PARAMETERS);
	statement = first;
	statement.signature[63] = 1;
	EXPECT(trust(&statement), TEE_ERROR_BAD_PARAMETERS);
	statement = first;
	statement.device[31] ^= 1;
	EXPECT(trust(&statement), KEYCACHE_UNTRUSTED);
	statement = authority_trust(NULL, &authority, 0);
	EXPECT(trust(&statement), KEYCACHE_OLD);
	EXPECT(enrol_number("car", 1, 0, 1), KEYCACHE_UNTRUSTED);
	EXPECT(trust(&first), TEE_SUCCESS);
	shown = identity();
	CHECK(!memcmp(shown.signer, first.signer, 64) && !memcmp(shown.backup, first.backup, 64));
	EXPECT(enrol_number("car", 1, 0, 1), TEE_SUCCESS);

	/* From now on nobody becomes it but by its own word. */
	statement = authority_trust(NULL, &stranger, 6);
	EXPECT(trust(&statement), KEYCACHE_UNTRUSTED);
	statement = authority_trust(&stranger, &stranger, 6);
	EXPECT(trust(&statement), KEYCACHE_UNTRUSTED);
	EXPECT(trust(&first), KEYCACHE_UNTRUSTED);
	statement = authority_trust(&authority, &next, 5);
	EXPECT(trust(&statement), KEYCACHE_OLD);
	statement = authority_trust(&authority, &next, 6);
	for (bytes = 0; bytes < sizeof(statement) * 8; bytes++) {
		struct keycache_trust flipped = statement;
		TEE_Result res;

		((uint8_t *)&flipped)[bytes / 8] ^= (uint8_t)(1 << bytes % 8);
		res = trust(&flipped);
		CHECK(res == TEE_ERROR_BAD_PARAMETERS || res == KEYCACHE_UNTRUSTED);
	}
	/* A reset forgets nothing of it. */
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	CHECK(!memcmp(identity().signer, first.signer, 64));
	EXPECT(trust(&first), KEYCACHE_UNTRUSTED);
	EXPECT(trust(&statement), TEE_SUCCESS);
	EXPECT(trust(&statement), KEYCACHE_UNTRUSTED);
	EXPECT(enrol_number("car", 1, 0, 7), KEYCACHE_UNTRUSTED);
	EXPECT(authority_enrol(&next, "car", 1, 0, 7, 0), TEE_SUCCESS);
	/* An authority that wants no backup. */
	statement = authority_trust(&next, &stranger, 9);
	memset(statement.backup, 0, sizeof(statement.backup));
	authority_sign_trust(&next, &statement);
	EXPECT(trust(&statement), TEE_SUCCESS);
	bytes = sizeof(room);
	EXPECT(backup(&position, room, &bytes), KEYCACHE_UNTRUSTED);
	/* A second storage of the same TA is another device. */
	EXPECT(configure(KEYCACHE_RPMB, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_SUCCESS);
	CHECK(memcmp(identity().ta, shown.ta, 64));
	authority_free(&authority);
	authority_free(&next);
	authority_free(&stranger);
}

void test_enrolment(void)
{
	struct keycache_enrolment enrolment;
	struct keycache_offer offer;
	uint8_t key[32];
	uint8_t got[32];
	uint32_t whose;
	uint32_t hits;
	size_t bytes;
	unsigned int life;

	begin(KEYCACHE_ALLOW_GET);
	for (bytes = 16; bytes <= 32; bytes += 16) {
		enrolment = enrolment_of(&authority, "car", KEYCACHE_GETTABLE, bytes);
		enrolment.key_length = (uint8_t)bytes;
		authority_wrap(&authority, &enrolment, 1);
		authority_sign(&authority, &enrolment);
		EXPECT(enrol_it(&enrolment), TEE_SUCCESS);
		EXPECT(count, 1);
		EXPECT(handed, 0);
		EXPECT(records[0].flags, KEYCACHE_ENROLLED | KEYCACHE_GETTABLE);
		EXPECT(get("car", NULL, got, &bytes), TEE_SUCCESS);
		make_key(1, key);
		CHECK(bytes == enrolment.key_length && !memcmp(got, key, bytes));
	}
	offer = offer_of(&records[0]);
	EXPECT(evict("car"), TEE_SUCCESS);
	EXPECT(use("car", &offer), TEE_SUCCESS);
	/* Nobody else replaces it; and GET is the configuration's, too. */
	EXPECT(set_number("car", 2, &records[0]), KEYCACHE_IS_ENROLLED);
	EXPECT(set_as("car", 2, KEYCACHE_RELAXED, 0, records, &count), KEYCACHE_IS_ENROLLED);
	EXPECT(set_as("car", 2, KEYCACHE_KEEP, 0, records, &count), KEYCACHE_IS_ENROLLED);
	EXPECT(generate("car", 16, 0, 0, records, &count), KEYCACHE_IS_ENROLLED);
	EXPECT(exists(previous("car")), KEYCACHE_NO_KEY);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_SUCCESS);
	EXPECT(enrol_number("car", 1, KEYCACHE_GETTABLE, 40), TEE_SUCCESS);
	EXPECT(record("car", &records[0]), TEE_SUCCESS);
	EXPECT(records[0].flags, KEYCACHE_ENROLLED);

	/* Enrolled to enrolled, others to others. */
	EXPECT(enrol_number("van", 2, KEYCACHE_NO_OPEN, 41), TEE_SUCCESS);
	EXPECT(set_number("bus", 3, &records[0]), TEE_SUCCESS);
	EXPECT(set_number("cab", 4, &records[0]), TEE_SUCCESS);
	for (life = 0; life < 2; life++) {
		EXPECT(stats().enrolled, 2);
		EXPECT(stats().clients, 4);
		make_key(1, key);
		client_seal(key, 32, "x", 1, &message);
		EXPECT(reencrypt("car", NULL, "van", NULL, &message, &other, &hits, &whose), TEE_SUCCESS);
		EXPECT(reencrypt("car", NULL, "bus", NULL, &message, &other, &hits, &whose), KEYCACHE_USE_DENIED);
		EXPECT(whose, KEYCACHE_OF_FROM | KEYCACHE_OF_TO);
		make_key(3, key);
		client_seal(key, 32, "x", 1, &message);
		EXPECT(reencrypt("bus", NULL, "cab", NULL, &message, &other, &hits, &whose), TEE_SUCCESS);
		EXPECT(reencrypt("bus", NULL, "car", NULL, &message, &other, &hits, &whose), KEYCACHE_USE_DENIED);
		shim_crash();
		start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
		EXPECT(record("car", &records[0]), TEE_SUCCESS);
		EXPECT(record("van", &records[0]), TEE_SUCCESS);
		EXPECT(record("bus", &records[0]), TEE_SUCCESS);
		EXPECT(record("cab", &records[0]), TEE_SUCCESS);
	}

	/* A key that waits, or is kept, or must not be. */
	EXPECT(set_as("bus", 5, KEYCACHE_RELAXED, 0, records, &count), TEE_SUCCESS);
	EXPECT(authority_enrol(&authority, "bus", 6, 0, 42, KEYCACHE_KEEP), TEE_SUCCESS);
	EXPECT(stats().waiting, 0);
	EXPECT(record(previous("bus"), &records[0]), TEE_SUCCESS);
	EXPECT(records[0].flags, 0);
	EXPECT(authority_enrol(&authority, "bus", 7, 0, 43, KEYCACHE_KEEP), TEE_SUCCESS);
	EXPECT(record(previous("bus"), &records[0]), TEE_SUCCESS);
	EXPECT(records[0].flags, KEYCACHE_ENROLLED);
	EXPECT(stats().enrolled, 3);
	EXPECT(stats().previous, 1);
	enrolment = enrolment_of(&authority, "bus", 0, 44);
	enrolment.at_once = 1;
	authority_wrap(&authority, &enrolment, 8);
	authority_sign(&authority, &enrolment);
	EXPECT(enrol(&enrolment, KEYCACHE_KEEP, records, &count, &handover, &handed), TEE_SUCCESS);
	EXPECT(count, 1);
	EXPECT(exists(previous("bus")), KEYCACHE_NO_KEY);
	authority_free(&authority);
}

/* The form first, then the signature: each bit that is flipped, and each field that a signed one has wrong. */
void test_enrolment_changes(void)
{
	struct keycache_enrolment good;
	struct keycache_enrolment bad;
	struct keycache_enrolment zeros = { 0 };
	struct authority stranger;
	size_t bit;
	unsigned int i;

	begin(0);
	good = enrolment_of(&authority, "car", KEYCACHE_NAMED, 1);
	authority_wrap(&authority, &good, 1);
	authority_sign(&authority, &good);
	for (bit = 0; bit < sizeof(good) * 8; bit++) {
		TEE_Result res;

		bad = good;
		((uint8_t *)&bad)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		res = enrol_it(&bad);
		CHECK(res == TEE_ERROR_BAD_PARAMETERS || res == KEYCACHE_UNTRUSTED);
		CHECK(!count && !handed);
	}
	/* No numbers that a signature cannot have. */
	bad = good;
	memset(bad.signature, 0, sizeof(bad.signature));
	EXPECT(enrol_it(&bad), KEYCACHE_UNTRUSTED);
	memset(bad.signature, 0xff, sizeof(bad.signature));
	EXPECT(enrol_it(&bad), KEYCACHE_UNTRUSTED);
	EXPECT(exists("car"), KEYCACHE_NO_KEY);
	for (i = 0; i < 16; i++) {
		TEE_Result due = TEE_ERROR_BAD_PARAMETERS;

		bad = good;
		switch (i) {
		case 0:
			bad.format = 2;
			break;
		case 1:
			bad.kind = 0;
			break;
		case 2:
			bad.kind = 3;
			break;
		case 3:
			bad.id_length = 0;
			break;
		case 4:
			bad.id_length = KEYCACHE_ID_BYTES + 1;
			break;
		case 5:
			bad.id_length = 3 | KEYCACHE_PREVIOUS;
			break;
		case 6:
			bad.id[3] = 'd';
			break;
		case 7:
			bad.key_length = 24;
			break;
		case 8:
			bad.flags &= (uint8_t)~KEYCACHE_ENROLLED;
			break;
		case 9:
			bad.flags |= KEYCACHE_WORN;
			break;
		case 10:
			bad.at_once = 2;
			break;
		case 11:
			bad.reserved[1] = 1;
			break;
		case 12:
			bad.point[9] ^= 1;
			break;
		case 13:
			memcpy(bad.point, zeros.point, sizeof(bad.point));
			break;
		case 14:
			/* The TA makes a key, and gets one. */
			bad.kind = KEYCACHE_GENERATED;
			break;
		default:
			/* What is sealed is for another client. */
			bad.id[0] = 'C';
			due = KEYCACHE_FORGED;
			break;
		}
		authority_sign(&authority, &bad);
		EXPECT(enrol_it(&bad), due);
		CHECK(!count && !handed);
	}
	/* A key of 16 bytes with more behind it. */
	bad = enrolment_of(&authority, "car", 0, 1);
	authority_wrap_long(&authority, &bad, 1);
	authority_sign(&authority, &bad);
	EXPECT(enrol_it(&bad), KEYCACHE_FORGED);
	/* Another's word, and another TA's. */
	authority_make(&stranger);
	EXPECT(authority_enrol(&stranger, "car", 1, 0, 1, 0), KEYCACHE_UNTRUSTED);
	point_of(stranger.signer, stranger.ta);
	bad = enrolment_of(&stranger, "car", 0, 1);
	authority_wrap(&stranger, &bad, 1);
	authority_sign(&authority, &bad);
	EXPECT(enrol_it(&bad), KEYCACHE_UNTRUSTED);
	EXPECT(stats().clients, 0);
	EXPECT(enrol_it(&good), TEE_SUCCESS);
	authority_free(&stranger);
	authority_free(&authority);
}

static void restart(void)
{
	shim_crash();
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
}

/* No enrolment is good twice, whatever is done in between. */
void test_serials(void)
{
	struct keycache_enrolment held;
	struct keycache_enrolment bobs;
	char object[16];
	uint32_t repaired;

	begin(0);
	EXPECT(enrol_number("car", 1, 0, 0), KEYCACHE_OLD);
	EXPECT(enrol_number("car", 1, 0, 10), TEE_SUCCESS);
	EXPECT(enrol_number("car", 1, 0, 10), KEYCACHE_OLD);
	EXPECT(enrol_number("car", 1, 0, 9), KEYCACHE_OLD);
	/* Serials are each client's own, as long as nothing is removed. */
	EXPECT(enrol_number("van", 2, 0, 3), TEE_SUCCESS);
	restart();
	EXPECT(enrol_number("car", 1, 0, 10), KEYCACHE_OLD);
	/* A statement that was held back is refused in the next life. */
	held = enrolment_of(&authority, "car", 0, 12);
	authority_wrap(&authority, &held, 4);
	authority_sign(&authority, &held);
	bobs = enrolment_of(&authority, "bob", 0, 14);
	authority_wrap(&authority, &bobs, 4);
	authority_sign(&authority, &bobs);
	EXPECT(enrol_number("car", 5, 0, 15), TEE_SUCCESS);
	EXPECT(enrol_it(&held), KEYCACHE_OLD);
	EXPECT(delete("car"), TEE_SUCCESS);
	EXPECT(enrol_it(&held), KEYCACHE_OLD);
	EXPECT(enrol_number("car", 5, 0, 15), KEYCACHE_OLD);
	/* A key that somebody sets does not help, nor does a restart. */
	EXPECT(set_number("car", 6, &records[0]), TEE_SUCCESS);
	EXPECT(enrol_number("car", 5, 0, 15), KEYCACHE_OLD);
	EXPECT(enrol_it(&bobs), KEYCACHE_OLD);
	restart();
	EXPECT(enrol_it(&held), KEYCACHE_OLD);
	EXPECT(enrol_number("car", 5, 0, 15), KEYCACHE_OLD);
	EXPECT(enrol_it(&bobs), KEYCACHE_OLD);
	EXPECT(enrol_number("car", 5, 0, 16), TEE_SUCCESS);
	/* Who is enrolled goes on where it was. */
	EXPECT(enrol_number("van", 2, 0, 4), TEE_SUCCESS);

	/* A bucket that is lost takes its serials with it. */
	EXPECT(enrol_number("car", 7, 0, 30), TEE_SUCCESS);
	shim_stop();
	(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of("car"));
	CHECK(bucket_of("car") != bucket_of("van"));
	damage("ree", object);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(enrol_number("car", 8, 0, 31), TEE_ERROR_CORRUPT_OBJECT);
	EXPECT(repair(&repaired), TEE_SUCCESS);
	EXPECT(enrol_number("car", 8, 0, 30), KEYCACHE_OLD);
	restart();
	EXPECT(enrol_number("car", 8, 0, 30), KEYCACHE_OLD);
	EXPECT(enrol_number("car", 8, 0, 31), TEE_SUCCESS);
	EXPECT(enrol_number("van", 2, 0, 5), TEE_SUCCESS);

	/* Meta: the TA's pair is another one, and whoever comes first then is trusted; but gets nothing of before. */
	shim_stop();
	damage("ree", "meta");
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(enrol_number("car", 8, 0, 99), KEYCACHE_UNTRUSTED);
	EXPECT(record("car", &records[0]), KEYCACHE_UNTRUSTED);
	{
		struct authority thief;
		struct keycache_trust first;
		uint8_t room[sizeof(struct keycache_backup) + 4 * sizeof(struct keycache_saved)];
		uint32_t position = 0;

		authority_make(&thief);
		first = authority_trust(NULL, &thief, 1);
		EXPECT(trust(&first), TEE_SUCCESS);
		EXPECT(authority_enrol(&thief, "mallory", 9, 0, 1, 0), TEE_SUCCESS);
		EXPECT(record("car", &records[0]), KEYCACHE_UNTRUSTED);
		EXPECT(record("van", &records[0]), KEYCACHE_UNTRUSTED);
		/* Nor by keeping it. */
		EXPECT(authority_enrol(&thief, "van", 9, 0, 6, KEYCACHE_KEEP), TEE_SUCCESS);
		EXPECT(exists(previous("van")), KEYCACHE_NO_KEY);
		do {
			size_t bytes = sizeof(room);
			const struct keycache_backup *part = (const struct keycache_backup *)room;
			const struct keycache_saved *saved = (const struct keycache_saved *)(part + 1);
			uint32_t i;

			EXPECT(backup(&position, room, &bytes), TEE_SUCCESS);
			for (i = 0; i < part->count; i++)
				CHECK(!memcmp(saved[i].id, "mallory", 8) || !memcmp(saved[i].id, "van", 4));
		} while (position);
		EXPECT(delete("car"), TEE_SUCCESS);
		authority_free(&thief);
	}
	authority_free(&authority);
}

/*
 * A relaxed SET that waits is older than an enrolment: it must not take an enrolled key's place afterwards, should the write of that
 * one fail although it took effect. With the key its serial would be gone, and older enrolments good again.
 */
static bool enrol_over_a_waiting_key(unsigned int failing, bool at_once)
{
	struct keycache_enrolment enrolment;
	uint8_t key[32];
	uint32_t enrolled;

	begin(0);
	make_key(2, key);
	EXPECT(set_number("car", 1, &records[0]), TEE_SUCCESS);
	EXPECT(set("car", key, sizeof(key), KEYCACHE_RELAXED, &records[0]), TEE_SUCCESS);
	EXPECT(stats().waiting, 1);
	enrolment = enrolment_of(&authority, "car", 0, 5);
	enrolment.at_once = at_once;
	authority_wrap(&authority, &enrolment, 3);
	authority_sign(&authority, &enrolment);
	shim_fail(failing, TEE_ERROR_STORAGE_NO_SPACE, true);
	(void)enrol_it(&enrolment);
	shim_fail(0, 0, false);
	/* So that the bucket is read again. */
	EXPECT(exists(previous("car")), KEYCACHE_NO_KEY);
	enrolled = stats().enrolled;
	EXPECT(flush(), TEE_SUCCESS);
	EXPECT(exists("car"), TEE_SUCCESS);
	EXPECT(stats().enrolled, enrolled);
	if (enrolled)
		EXPECT(enrol_it(&enrolment), KEYCACHE_OLD);
	authority_free(&authority);
	shim_stop();
	remove_storage(folder());
	return enrolled;
}

void test_enrolment_over_a_waiting_key(void)
{
	unsigned int failing;

	/* Writes of meta, of what waits, of the enrolled key. */
	for (failing = 1; failing <= 3; failing++) {
		EXPECT(enrol_over_a_waiting_key(failing, false), failing == 3);
		EXPECT(enrol_over_a_waiting_key(failing, true), failing == 3);
	}
}

void test_handover(void)
{
	struct keycache_enrolment enrolment;
	EVP_PKEY *client = new_pair();
	uint8_t key[32];
	uint8_t before[32] = { 0 };
	unsigned int bytes;

	begin(0);
	for (bytes = 16; bytes <= 32; bytes += 16) {
		enrolment = enrolment_of(&authority, "car", KEYCACHE_NO_OPEN, bytes);
		enrolment.key_length = (uint8_t)bytes;
		authority_let_generate(&enrolment, client);
		authority_sign(&authority, &enrolment);
		EXPECT(enrol_it(&enrolment), TEE_SUCCESS);
		EXPECT(handed, sizeof(handover));
		CHECK(client_takes(client, &enrolment, &handover, key));
		CHECK(memcmp(key, before, 16) != 0 && (bytes == 32 || !memcmp(key + 16, before + 16, 16)));
		memcpy(before, key, 16);
		EXPECT(seal("car", NULL, "to the client", 13, &message), TEE_SUCCESS);
		CHECK(client_open(key, bytes, &message, &plain) && !memcmp(plain.bytes, "to the client", 13));
		/* To no other client, and not as something else. */
		enrolment.flags ^= KEYCACHE_NO_OPEN;
		CHECK(!client_takes(client, &enrolment, &handover, key));
	}
	{
		EVP_PKEY *another = new_pair();

		enrolment.flags ^= KEYCACHE_NO_OPEN;
		CHECK(!client_takes(another, &enrolment, &handover, key));
		EVP_PKEY_free(another);
	}
	/* For nobody. */
	enrolment = enrolment_of(&authority, "van", 0, 1);
	authority_let_generate(&enrolment, NULL);
	authority_sign(&authority, &enrolment);
	EXPECT(enrol_it(&enrolment), TEE_SUCCESS);
	EXPECT(handed, 0);
	EXPECT(use("van", NULL), TEE_SUCCESS);
	/* Nothing is enrolled if there is no room for what it gives. */
	enrolment = enrolment_of(&authority, "bus", 0, 1);
	authority_let_generate(&enrolment, client);
	authority_sign(&authority, &enrolment);
	{
		TEE_Param params[4] = { { .memref = { &enrolment, sizeof(enrolment) } },
					{ .value = { 0, 0 } },
					{ .memref = { records, sizeof(records) } },
					{ .memref = { &handover, sizeof(handover) - 1 } } };

		EXPECT(shim_invoke(KEYCACHE_ENROL, TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, MEMORY_OUT),
				   params),
		       TEE_ERROR_SHORT_BUFFER);
		EXPECT(params[3].memref.size, sizeof(handover));
		params[0].memref.size = sizeof(enrolment);
		params[1].value.a = KEYCACHE_RELAXED;
		params[3].memref.size = sizeof(handover);
		EXPECT(shim_invoke(KEYCACHE_ENROL, TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, MEMORY_OUT),
				   params),
		       TEE_ERROR_BAD_PARAMETERS);
	}
	EXPECT(exists("bus"), KEYCACHE_NO_KEY);
	EVP_PKEY_free(client);
	authority_free(&authority);
}

/* All of the keys that were set since there is an authority, once each, and no others; opened by the authority alone. */
void test_backup(void)
{
	enum { CLIENTS = 150 };
	static const size_t sizes[] = { sizeof(struct keycache_backup) + sizeof(struct keycache_saved), 2000, 70000 };
	static uint8_t room[70000];
	static unsigned int seen[2][CLIENTS];
	struct keycache_backup *part = (struct keycache_backup *)room;
	struct keycache_saved *saved = (struct keycache_saved *)(part + 1);
	struct keycache_trust first;
	struct authority stranger;
	struct authority forger;
	uint8_t due[32];
	uint8_t key[32];
	unsigned int s;
	uint32_t i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("early", 1, &records[0]), TEE_SUCCESS);
	EXPECT(set_number("waits", 1, &records[0]), TEE_SUCCESS);
	EXPECT(set_as("waits", 2, KEYCACHE_RELAXED, 0, records, &count), TEE_SUCCESS);
	authority_make(&authority);
	first = authority_trust(NULL, &authority, 1);
	/* What waits was set before; if it cannot be written, there is no authority yet. */
	shim_fail(1, TEE_ERROR_STORAGE_NO_SPACE, false);
	EXPECT(trust(&first), TEE_ERROR_STORAGE_NO_SPACE);
	EXPECT(enrol_number("waits", 3, 0, 1), KEYCACHE_UNTRUSTED);
	EXPECT(trust(&first), TEE_SUCCESS);
	EXPECT(stats().waiting, 0);
	authority_make(&stranger);
	for (i = 0; i < CLIENTS; i++) {
		if (i % 10)
			EXPECT(set_as(name(i), i, 0, i % 3 ? 0 : KEYCACHE_NO_OPEN, records, &count), TEE_SUCCESS);
		else
			EXPECT(enrol_number(name(i), i, 0, i + 1), TEE_SUCCESS);
	}
	EXPECT(set_as(name(1), 1000, KEYCACHE_KEEP, 0, records, &count), TEE_SUCCESS);
	EXPECT(authority_enrol(&authority, name(10), 1000, 0, 5000, KEYCACHE_KEEP), TEE_SUCCESS);
	EXPECT(set_as(name(2), 2, KEYCACHE_RELAXED, 0, records, &count), TEE_SUCCESS);
	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint8_t which[KEYCACHE_NUMBER_BYTES] = { 0 };
		uint32_t position = 0;
		uint32_t parts = 0;

		memset(seen, 0, sizeof(seen));
		do {
			size_t bytes = sizes[s];
			uint32_t elsewhere = position + 1;

			EXPECT(backup(&elsewhere, room, &bytes), TEE_ERROR_BAD_STATE);
			bytes = sizes[s];
			EXPECT(backup(&position, room, &bytes), TEE_SUCCESS);
			CHECK(bytes == sizeof(*part) + part->count * sizeof(*saved));
			EXPECT(part->format, KEYCACHE_BACKUP_FORMAT);
			EXPECT(part->last, !position);
			EXPECT(part->part, parts);
			/* One of its own for each backup. */
			CHECK(!memcmp(part->number, which, sizeof(which)) == !!parts);
			memcpy(which, part->number, sizeof(which));
			parts++;
			CHECK(authority_knows(&authority, part));
			for (i = 0; i < part->count; i++) {
				bool before = saved[i].id_length & KEYCACHE_PREVIOUS;
				unsigned int number = (unsigned int)strtoul((const char *)saved[i].id + 7, NULL, 10);

				CHECK(!memcmp(saved[i].id, "client-", 7) && number < CLIENTS);
				EXPECT(saved[i].number, i);
				EXPECT(saved[i].key_length, 32);
				seen[before][number % CLIENTS]++;
				CHECK(authority_opens(&authority, part, &saved[i], key));
				make_key((number == 1 || number == 10) && !before ? 1000 : number, due);
				CHECK(!memcmp(key, due, 32));
				EXPECT(saved[i].serial, number % 10 ? 0 : number == 10 && !before ? 5000 : number + 1);
				EXPECT(!(saved[i].flags & KEYCACHE_ENROLLED), number % 10 != 0);
				CHECK(!memmem(room, bytes, due, 32));
			}
			if (s)
				continue;
			/* Nobody else opens it; nor was it made by anybody else; nor is anything of it changed. */
			forger = authority;
			point_of(stranger.signer, forger.ta);
			CHECK(!authority_knows(&stranger, part) && !authority_knows(&forger, part));
			CHECK(!part->count || !authority_opens(&stranger, part, &saved[0], key));
			CHECK(!part->count || !authority_opens(&forger, part, &saved[0], key));
			i = pick(8 * (uint32_t)(sizeof(*part) + (part->count ? sizeof(*saved) : 0)));
			if (i / 8 >= offsetof(struct keycache_backup, point) &&
			    i / 8 < offsetof(struct keycache_backup, tag))
				continue;
			room[i / 8] ^= (uint8_t)(1 << i % 8);
			CHECK(authority_knows(&authority, part) == (i / 8 >= sizeof(*part)));
			if (part->count && (i / 8 < offsetof(struct keycache_backup, tag) || i / 8 >= sizeof(*part)))
				CHECK(!authority_opens(&authority, part, &saved[0], key));
		} while (position);
		for (i = 0; i < CLIENTS; i++) {
			EXPECT(seen[0][i], 1);
			EXPECT(seen[1][i], i == 1 || i == 10);
		}
	}
	/* One that goes on ends with the next one, and with the TA. */
	{
		size_t bytes = sizes[1];
		uint32_t first_position = 0;
		uint32_t position = 0;

		EXPECT(backup(&first_position, room, &bytes), TEE_SUCCESS);
		bytes = sizes[1];
		EXPECT(backup(&position, room, &bytes), TEE_SUCCESS);
		CHECK(position && position == first_position);
		bytes = sizes[1];
		EXPECT(backup(&position, room, &bytes), TEE_SUCCESS);
		EXPECT(part->part, 1);
		bytes = sizes[1];
		EXPECT(backup(&first_position, room, &bytes), TEE_ERROR_BAD_STATE);
		restart();
		bytes = sizes[1];
		EXPECT(backup(&position, room, &bytes), TEE_ERROR_BAD_STATE);
	}
	authority_free(&stranger);
	authority_free(&authority);
}

/* What a TA of version 1.1 left: meta ends behind the seal key. */
void test_format_1(void)
{
	enum { FORMAT = 4, BYTES = 48 };
	struct keycache_record sealed;
	struct keycache_offer offer;
	struct keycache_identity shown;
	struct keycache_trust first;
	unsigned int i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	EXPECT(set_as("car", 2, KEYCACHE_RELAXED, 0, records, &count), TEE_SUCCESS);
	shim_crash();
	forge("ree", "meta", FORMAT, 1);
	cut_object("ree", "meta", BYTES);
	offer = offer_of(&sealed);
	/* A write that fails leaves it as it is. */
	CHECK(!shim_start(folder()));
	shim_fail(1, TEE_ERROR_STORAGE_NO_SPACE, false);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_ERROR_STORAGE_NO_SPACE);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_SUCCESS);
	shown = identity();
	CHECK(curve_has(shown.ta));
	for (i = 0; i < 2; i++) {
		EXPECT(use("car", &offer), TEE_SUCCESS);
		CHECK(!memcmp(identity().ta, shown.ta, sizeof(shown.ta)));
		shim_crash();
		start(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0);
	}
	/* Versions that a relaxed SET had are still taken. */
	EXPECT(set_number("car", 3, &sealed), TEE_SUCCESS);
	CHECK(sealed.version > records[0].version);
	authority_make(&authority);
	first = authority_trust(NULL, &authority, 1);
	EXPECT(trust(&first), TEE_SUCCESS);
	EXPECT(enrol_number("car", 1, 0, 1), TEE_SUCCESS);
	authority_free(&authority);
	/* Half of it is refused. */
	shim_stop();
	forge("ree", "meta", FORMAT, 1);
	CHECK(!shim_start(folder()));
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_ERROR_BAD_FORMAT);
	shim_stop();
	forge("ree", "meta", FORMAT, 2);
	cut_object("ree", "meta", BYTES);
	CHECK(!shim_start(folder()));
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_NONE, 0, 0, 0), TEE_ERROR_BAD_FORMAT);
}

static void lose_bucket(const char *id)
{
	char object[16];

	shim_stop();
	(void)snprintf(object, sizeof(object), "bucket-%02u", bucket_of(id));
	damage("ree", object);
	CHECK(!shim_start(folder()));
}

/* It prints tests/ATTEMPTS.md's table. */
void test_compromised_normal_world(void)
{
	CHECK(!shim_start(folder()));
	EXPECT(attempts_make(attempt_print, lose_bucket), attempts_count(true));
}
