/* SPDX-License-Identifier: BSD-2-Clause */
/* What each command takes and answers, right and wrong. */
#include "authority.h"
#include "command_types.h"
#include "gcm.h"
#include "siphash.h"
#include "test.h"

#define COMMANDS (sizeof(types_of) / sizeof(types_of[0]))

void test_siphash(void)
{
	/* The example of the paper's appendix A. */
	uint8_t bytes[16];
	uint8_t at;

	for (at = 0; at < 16; at++)
		bytes[at] = at;
	siphash_set_key(bytes);
	CHECK(siphash_bytes(bytes, 15) == 0xa129ca6149be45e5);
}

void test_gcm(void)
{
	static const uint8_t zeros[32];
	uint8_t tag[KEYCACHE_TAG_BYTES];
	uint8_t text[32] = "not forged";
	uint8_t sealed_text[32];
	const struct gcm_frame frame = { .nonce = zeros, .tag = tag };
	struct gcm one;
	struct gcm other;

	EXPECT(gcm_open(&one, TEE_MODE_ENCRYPT), TEE_SUCCESS);
	EXPECT(gcm_open(&other, TEE_MODE_DECRYPT), TEE_SUCCESS);
	EXPECT(gcm_encrypt(&one, &frame, text, 32, sealed_text), TEE_ERROR_BAD_STATE);
	EXPECT(gcm_set_key(&one, zeros, 32), TEE_SUCCESS);
	EXPECT(gcm_set_key(&other, zeros, 32), TEE_SUCCESS);
	EXPECT(gcm_encrypt(&one, &frame, text, 32, sealed_text), TEE_SUCCESS);
	/* What turned out to be forged is not there; and the operation goes on. */
	tag[3] ^= 1;
	EXPECT(gcm_decrypt(&other, &frame, sealed_text, 32, text), TEE_ERROR_MAC_INVALID);
	CHECK(!memcmp(text, zeros, 32));
	tag[3] ^= 1;
	EXPECT(gcm_decrypt(&other, &frame, sealed_text, 32, text), TEE_SUCCESS);
	CHECK(!memcmp(text, "not forged", 11));
	gcm_clear_key(&other);
	EXPECT(gcm_decrypt(&other, &frame, sealed_text, 32, text), TEE_ERROR_BAD_STATE);
	gcm_close(&one);
	gcm_close(&other);
}

static uint8_t big[KEYCACHE_PAYLOAD_BYTES + KEYCACHE_EXTRA_BYTES + 1];
static uint8_t out[KEYCACHE_PAYLOAD_BYTES + KEYCACHE_EXTRA_BYTES + 1];
static struct keycache_record sealed;
static struct keycache_offer offer;
static struct keycache_pair pair;
static struct keycache_pair no_from;
static struct keycache_pair long_to;
static struct keycache_pair odd_flag;
static struct keycache_offer odd_offer;
static struct keycache_pair odd_from;
static struct keycache_pair odd_to;

#define M(memory, bytes)                                                                                               \
	{                                                                                                              \
		.memref = { (void *)(uintptr_t)(memory), bytes }                                                       \
	}
#define V(first, second)                                                                                               \
	{                                                                                                              \
		.value = { first, second }                                                                             \
	}
#define ID M("car", 3)

struct wrong {
	const char *what;
	uint32_t command;
	TEE_Param params[4];
	TEE_Result due;
};

static const struct wrong wrong_calls[] = {
	{ "storage 0", KEYCACHE_CONFIGURE, { V(0, 1), V(0, 0), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "storage 3", KEYCACHE_CONFIGURE, { V(3, 1), V(0, 0), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "policy 0", KEYCACHE_CONFIGURE, { V(1, 0), V(0, 0), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "policy 4", KEYCACHE_CONFIGURE, { V(1, 4), V(0, 0), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "unknown flag", KEYCACHE_CONFIGURE, { V(1, 1), V(0, 4), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "small index", KEYCACHE_CONFIGURE, { V(1, 1), V(0, 0), V(100, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "index's b", KEYCACHE_CONFIGURE, { V(1, 1), V(0, 0), V(0, 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "key of 0", KEYCACHE_SET, { ID, M(big, 0), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "key of 15", KEYCACHE_SET, { ID, M(big, 15), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "key of 24", KEYCACHE_SET, { ID, M(big, 24), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "key of 33", KEYCACHE_SET, { ID, M(big, 33), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "key NULL", KEYCACHE_SET, { ID, M(NULL, 32), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "flag of SET", KEYCACHE_SET, { ID, M(big, 32), M(out, 300), V(4, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "two flags of SET", KEYCACHE_SET, { ID, M(big, 32), M(out, 300), V(3, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "one record of SET", KEYCACHE_SET, { ID, M(big, 32), M(out, 263), V(2, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "enrolled by SET", KEYCACHE_SET, { ID, M(big, 32), M(out, 200), V(0, 64) }, TEE_ERROR_BAD_PARAMETERS },
	{ "worn by SET", KEYCACHE_SET, { ID, M(big, 32), M(out, 200), V(0, 2) }, TEE_ERROR_BAD_PARAMETERS },
	{ "no flag of SET", KEYCACHE_SET, { ID, M(big, 32), M(out, 200), V(0, 512) }, TEE_ERROR_BAD_PARAMETERS },
	{ "previous key set",
	  KEYCACHE_SET,
	  { M("\x80"
	      "car",
	      4),
	    M(big, 32), M(out, 200), V(0, 0) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "previous key got",
	  KEYCACHE_GET,
	  { M("\x80"
	      "car",
	      4),
	    M(NULL, 0), M(out, 32) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "previous key seals",
	  KEYCACHE_SEAL,
	  { M("\x80"
	      "car",
	      4),
	    M(big, 5), M(out, 99), M(NULL, 0) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "previous key removed",
	  KEYCACHE_DELETE,
	  { M("\x80"
	      "car",
	      4) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "previous key forgotten",
	  KEYCACHE_FORGET,
	  { M("\x80"
	      "car",
	      4) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "nobody's previous key", KEYCACHE_EXISTS, { M("\x80", 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "before the previous key",
	  KEYCACHE_EXISTS,
	  { M("\x80\x80"
	      "car",
	      5) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "b of SET", KEYCACHE_SET, { ID, M(big, 32), M(out, 200), V(0, 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "record NULL", KEYCACHE_SET, { ID, M(big, 32), M(NULL, 200), V(0, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "record short", KEYCACHE_SET, { ID, M(big, 32), M(out, 131), V(0, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "offer of 1", KEYCACHE_GET, { ID, M(big, 1), M(out, 32) }, TEE_ERROR_BAD_PARAMETERS },
	{ "offer NULL", KEYCACHE_GET, { ID, M(NULL, sizeof(offer)), M(out, 32) }, TEE_ERROR_BAD_PARAMETERS },
	{ "only a record", KEYCACHE_GET, { ID, M(big, sizeof(sealed)), M(out, 32) }, TEE_ERROR_BAD_PARAMETERS },
	{ "key short", KEYCACHE_GET, { ID, M(NULL, 0), M(out, 31) }, TEE_ERROR_SHORT_BUFFER },
	{ "no pair", KEYCACHE_REENCRYPT, { M(NULL, sizeof(pair)), M(big, 40), M(out, 99) }, TEE_ERROR_BAD_PARAMETERS },
	{ "half a pair",
	  KEYCACHE_REENCRYPT,
	  { M(&pair, sizeof(pair) - 1), M(big, 40), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "no from",
	  KEYCACHE_REENCRYPT,
	  { M(&no_from, sizeof(pair)), M(big, 40), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "long to",
	  KEYCACHE_REENCRYPT,
	  { M(&long_to, sizeof(pair)), M(big, 40), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "odd flag",
	  KEYCACHE_REENCRYPT,
	  { M(&odd_flag, sizeof(pair)), M(big, 40), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "sender's offer, reserved",
	  KEYCACHE_REENCRYPT,
	  { M(&odd_from, sizeof(pair)), M(big, 40), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "receiver's offer, reserved",
	  KEYCACHE_REENCRYPT,
	  { M(&odd_to, sizeof(pair)), M(big, 40), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "message of 27",
	  KEYCACHE_REENCRYPT,
	  { M(&pair, sizeof(pair)), M(big, 27), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "message NULL",
	  KEYCACHE_REENCRYPT,
	  { M(&pair, sizeof(pair)), M(NULL, 40), M(out, 99) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "message long",
	  KEYCACHE_REENCRYPT,
	  { M(&pair, sizeof(pair)), M(big, sizeof(big)), M(out, 99) },
	  TEE_ERROR_EXCESS_DATA },
	{ "output short",
	  KEYCACHE_REENCRYPT,
	  { M(&pair, sizeof(pair)), M(big, 40), M(out, 39) },
	  TEE_ERROR_SHORT_BUFFER },
	{ "plain NULL", KEYCACHE_SEAL, { ID, M(NULL, 5), M(out, 99), M(NULL, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "plain long",
	  KEYCACHE_SEAL,
	  { ID, M(big, KEYCACHE_PAYLOAD_BYTES + 1), M(out, sizeof(out)), M(NULL, 0) },
	  TEE_ERROR_EXCESS_DATA },
	{ "output short", KEYCACHE_SEAL, { ID, M(big, 5), M(out, 32), M(NULL, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "output NULL", KEYCACHE_SEAL, { ID, M(big, 5), M(NULL, 33), M(NULL, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "offer of 1", KEYCACHE_SEAL, { ID, M(big, 5), M(out, 99), M(big, 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "offer, reserved",
	  KEYCACHE_SEAL,
	  { ID, M(big, 5), M(out, 99), M(&odd_offer, sizeof(offer)) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "message of 27", KEYCACHE_OPEN, { ID, M(big, 27), M(out, 99), M(NULL, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "message long",
	  KEYCACHE_OPEN,
	  { ID, M(big, sizeof(big)), M(out, sizeof(out)), M(NULL, 0) },
	  TEE_ERROR_EXCESS_DATA },
	{ "output short", KEYCACHE_OPEN, { ID, M(big, 40), M(out, 11), M(NULL, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "bad tag", KEYCACHE_OPEN, { ID, M(big, 40), M(out, 12), M(NULL, 0) }, KEYCACHE_BAD_TAG },
	{ "no offer", KEYCACHE_LOAD, { ID, M(NULL, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "offer long", KEYCACHE_LOAD, { ID, M(big, sizeof(offer) + 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "offer, reserved", KEYCACHE_LOAD, { ID, M(&odd_offer, sizeof(offer)) }, TEE_ERROR_BAD_PARAMETERS },
	{ "not a record", KEYCACHE_LOAD, { M("van", 3), M(big, sizeof(offer)) }, KEYCACHE_FORGED },
	{ "stats short", KEYCACHE_STATS, { M(out, sizeof(struct keycache_stats) - 1) }, TEE_ERROR_SHORT_BUFFER },
	{ "stats NULL", KEYCACHE_STATS, { M(NULL, 999) }, TEE_ERROR_SHORT_BUFFER },
	{ "record short", KEYCACHE_RECORD, { ID, M(out, sizeof(sealed) - 1) }, TEE_ERROR_SHORT_BUFFER },
	{ "list short", KEYCACHE_LIST, { V(0, 0), M(out, KEYCACHE_ID_BYTES) }, TEE_ERROR_SHORT_BUFFER },
	{ "list NULL", KEYCACHE_LIST, { V(0, 0), M(NULL, 999) }, TEE_ERROR_SHORT_BUFFER },
	{ "list beyond",
	  KEYCACHE_LIST,
	  { V(KEYCACHE_BUCKETS * KEYCACHE_BUCKET_SLOTS, 0), M(out, 999) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "b of list", KEYCACHE_LIST, { V(0, 1), M(out, 999) }, TEE_ERROR_BAD_PARAMETERS },
	{ "no previous key", KEYCACHE_FORGET, { ID }, KEYCACHE_NO_KEY },
	{ "generated 24", KEYCACHE_GENERATE, { ID, V(24, 0), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "generated 272", KEYCACHE_GENERATE, { ID, V(272, 0), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "generated, got", KEYCACHE_GENERATE, { ID, V(16, 1), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "generated, flag", KEYCACHE_GENERATE, { ID, V(16, 512), M(out, 200), V(0, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "generated, relaxed", KEYCACHE_GENERATE, { ID, V(16, 0), M(out, 300), V(1, 0) }, TEE_ERROR_BAD_PARAMETERS },
	{ "generated, b", KEYCACHE_GENERATE, { ID, V(16, 0), M(out, 300), V(0, 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "generated, short", KEYCACHE_GENERATE, { ID, V(16, 0), M(out, 131), V(0, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "generated, one record", KEYCACHE_GENERATE, { ID, V(16, 0), M(out, 263), V(2, 0) }, TEE_ERROR_SHORT_BUFFER },
	{ "identity short", KEYCACHE_IDENTITY, { M(out, 191) }, TEE_ERROR_SHORT_BUFFER },
	{ "identity NULL", KEYCACHE_IDENTITY, { M(NULL, 999) }, TEE_ERROR_SHORT_BUFFER },
	{ "trust short", KEYCACHE_TRUST, { M(big, sizeof(struct keycache_trust) - 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "trust long", KEYCACHE_TRUST, { M(big, sizeof(struct keycache_trust) + 1) }, TEE_ERROR_BAD_PARAMETERS },
	{ "trust of zeros", KEYCACHE_TRUST, { M(big, sizeof(struct keycache_trust)) }, TEE_ERROR_BAD_PARAMETERS },
	{ "enrolment short",
	  KEYCACHE_ENROL,
	  { M(big, sizeof(struct keycache_enrolment) - 1), V(0, 0), M(out, 300), M(out, 200) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "enrolment of zeros",
	  KEYCACHE_ENROL,
	  { M(big, sizeof(struct keycache_enrolment)), V(0, 0), M(out, 300), M(out, 200) },
	  TEE_ERROR_BAD_PARAMETERS },
	{ "no authority", KEYCACHE_BACKUP, { V(0, 0), M(out, 999) }, KEYCACHE_UNTRUSTED },
	{ "b of backup", KEYCACHE_BACKUP, { V(0, 1), M(out, 999) }, TEE_ERROR_BAD_PARAMETERS },
	{ "backup short", KEYCACHE_BACKUP, { V(0, 0), M(out, 271) }, TEE_ERROR_SHORT_BUFFER },
	{ "backup NULL", KEYCACHE_BACKUP, { V(0, 0), M(NULL, 999) }, TEE_ERROR_SHORT_BUFFER },
};

static const struct {
	const char *what;
	TEE_Param param;
} wrong_ids[] = {
	{ "empty", M("", 0) },
	{ "NULL", M(NULL, 3) },
	{ "of 65", M("aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg", 65) },
	{ "with a space", M("a b", 3) },
	{ "with a zero", M("a\0b", 3) },
	{ "beginning with a zero", M("\0ab", 3) },
	{ "with a line's end", M("ab\n", 3) },
	{ "with DEL", M("ab\x7f", 3) },
	{ "not ASCII", M("\xc3\xa4", 2) },
};

static void expect_row(const char *what, uint32_t command, const TEE_Param params[4], TEE_Result due)
{
	TEE_Param copy[4];
	TEE_Result res;
	unsigned int i;

	memcpy(copy, params, sizeof(copy));
	memset(out, 0xaa, sizeof(out));
	res = shim_invoke(command, types_of[command], copy);
	if (res != due)
		printf("command %u, %s:\n", command, what);
	EXPECT(res, due);
	/* Nothing is given with an error, and a size only if it is short. */
	for (i = 0; i < 4; i++)
		if (TEE_PARAM_TYPE_GET(types_of[command], i) == MEMORY_OUT)
			CHECK(due == TEE_ERROR_SHORT_BUFFER
				      ? copy[i].memref.size > params[i].memref.size || !copy[i].memref.buffer
				      : !copy[i].memref.size);
	CHECK(out[0] == 0xaa && !memcmp(out, out + 1, sizeof(out) - 1));
}

void test_wrong_calls(void)
{
	TEE_Param params[4] = { { { 0 } } };
	uint32_t command;
	unsigned int i;
	unsigned int at;

	pair = (struct keycache_pair){ .from_length = 3, .to_length = 3, .from = "car", .to = "van" };
	no_from = pair;
	no_from.from_length = 0;
	long_to = pair;
	long_to.to_length = KEYCACHE_ID_BYTES + 1;
	odd_flag = pair;
	odd_flag.has_to = 2;
	odd_offer.reserved[0] = 1;
	odd_from = pair;
	odd_from.has_from = 1;
	odd_from.from_offer.reserved[1] = 1;
	odd_to = pair;
	odd_to.has_to = 1;
	odd_to.to_offer = odd_offer;

	CHECK(!shim_start(folder()));
	for (command = KEYCACHE_CONFIGURE + 1; command < COMMANDS; command++)
		EXPECT(shim_invoke(command, types_of[command], params), KEYCACHE_NOT_CONFIGURED);
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), KEYCACHE_ALLOW_GET, 0), TEE_SUCCESS);
	EXPECT(set_number("car", 1, &sealed), TEE_SUCCESS);
	EXPECT(set_number("van", 1, &sealed), TEE_SUCCESS);
	EXPECT(evict("van"), TEE_SUCCESS);

	EXPECT(shim_invoke(0, 0, params), TEE_ERROR_NOT_SUPPORTED);
	EXPECT(shim_invoke(COMMANDS, 0, params), TEE_ERROR_NOT_SUPPORTED);
	EXPECT(shim_invoke(UINT32_MAX, 0, params), TEE_ERROR_NOT_SUPPORTED);
	/* Each command with another type in each place. */
	for (command = KEYCACHE_CONFIGURE; command < COMMANDS; command++)
		for (i = 0; i < 4; i++)
			for (at = 0; at < 16; at++)
				if (at != TEE_PARAM_TYPE_GET(types_of[command], i))
					EXPECT(shim_invoke(command, (types_of[command] & ~(15u << i * 4)) | at << i * 4,
							   params),
					       TEE_ERROR_BAD_PARAMETERS);

	for (i = 0; i < sizeof(wrong_calls) / sizeof(wrong_calls[0]); i++)
		expect_row(wrong_calls[i].what, wrong_calls[i].command, wrong_calls[i].params, wrong_calls[i].due);
	for (i = 0; i < sizeof(wrong_ids) / sizeof(wrong_ids[0]); i++) {
		/* Where a message has additional data, this is what stands behind a zero. */
		TEE_Result named = strcmp(wrong_ids[i].what, "with a zero") ? TEE_ERROR_BAD_PARAMETERS
									    : KEYCACHE_NO_KEY;
		TEE_Param with_id[4] = { wrong_ids[i].param, M(big, 32), M(out, 200), V(0, 0) };

		expect_row(wrong_ids[i].what, KEYCACHE_SET, with_id, TEE_ERROR_BAD_PARAMETERS);
		with_id[1].memref.size = 0;
		expect_row(wrong_ids[i].what, KEYCACHE_GET, with_id, TEE_ERROR_BAD_PARAMETERS);
		with_id[3].memref.size = 0;
		expect_row(wrong_ids[i].what, KEYCACHE_SEAL, with_id, named);
		with_id[1].memref.size = 40;
		expect_row(wrong_ids[i].what, KEYCACHE_OPEN, with_id, named);
		with_id[1].memref.size = sizeof(offer);
		expect_row(wrong_ids[i].what, KEYCACHE_LOAD, with_id, TEE_ERROR_BAD_PARAMETERS);
		expect_row(wrong_ids[i].what, KEYCACHE_RECORD, with_id, TEE_ERROR_BAD_PARAMETERS);
		expect_row(wrong_ids[i].what, KEYCACHE_DELETE, with_id, TEE_ERROR_BAD_PARAMETERS);
		expect_row(wrong_ids[i].what, KEYCACHE_EXISTS, with_id, TEE_ERROR_BAD_PARAMETERS);
		expect_row(wrong_ids[i].what, KEYCACHE_EVICT, with_id, TEE_ERROR_BAD_PARAMETERS);
		expect_row(wrong_ids[i].what, KEYCACHE_FORGET, with_id, TEE_ERROR_BAD_PARAMETERS);
		with_id[1] = (TEE_Param)V(32, 0);
		with_id[3] = (TEE_Param)V(0, 0);
		expect_row(wrong_ids[i].what, KEYCACHE_GENERATE, with_id, TEE_ERROR_BAD_PARAMETERS);
	}
	/* Whoever has no key gets the same answer everywhere. */
	EXPECT(exists("nobody"), KEYCACHE_NO_KEY);
	EXPECT(delete("nobody"), KEYCACHE_NO_KEY);
	EXPECT(use("nobody", NULL), KEYCACHE_NO_KEY);
	EXPECT(record("nobody", &sealed), KEYCACHE_NO_KEY);
	EXPECT(evict("nobody"), TEE_SUCCESS);
	offer = offer_of(&sealed);
	EXPECT(load("nobody", &offer), KEYCACHE_NO_KEY);
	/* After all that the key is as it was. */
	EXPECT(key_number("car", 3, &i), TEE_SUCCESS);
	EXPECT(i, 1);
}

/* A statement that is good but for a byte, sometimes; and signed, mostly. */
static size_t random_statement(const struct authority *authority, uint32_t command, uint64_t serial, uint8_t *to)
{
	struct keycache_trust trust = authority_trust(authority, authority, serial);
	struct keycache_enrolment enrolment = enrolment_of(authority, pick(2) ? "a" : "b", pick(256), serial);
	void *from = command == KEYCACHE_TRUST ? (void *)&trust : (void *)&enrolment;
	size_t bytes = command == KEYCACHE_TRUST ? sizeof(trust) : sizeof(enrolment);

	if (pick(2))
		authority_wrap(authority, &enrolment, 1);
	else
		authority_let_generate(&enrolment, pick(2) ? authority->signer : NULL);
	if (pick(2))
		((uint8_t *)from)[pick((uint32_t)bytes)] = (uint8_t)pick(256);
	if (pick(4)) {
		authority_sign(authority, &enrolment);
		authority_sign_trust(authority, &trust);
	}
	memcpy(to, from, bytes);
	return bytes;
}

void test_random_calls(void)
{
	static const uint32_t values[] = { 0, 1, 2, 16, 32 };
	static uint8_t memory[4][400];
	static unsigned int good[COMMANDS];
	struct authority authority;
	struct keycache_trust first;
	TEE_Result res;
	unsigned int run;
	unsigned int i;
	unsigned int at;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, KEYCACHE_ALLOW_GET);
	authority_make(&authority);
	first = authority_trust(NULL, &authority, 1);
	EXPECT(trust(&first), TEE_SUCCESS);
	for (run = 0; run < 20000; run++) {
		uint32_t command = 1 + pick(COMMANDS);
		uint32_t types = pick(16) && command < COMMANDS ? types_of[command] : pick(0x10000);
		TEE_Param params[4];

		/* Other configurations than a small one only take time. */
		if (command == KEYCACHE_CONFIGURE)
			continue;
		for (i = 0; i < 4; i++) {
			uint32_t type = TEE_PARAM_TYPE_GET(types, i);

			if (type < MEMORY_IN) {
				params[i].value.a = pick(3) ? values[pick(5)] : pick(UINT32_MAX);
				params[i].value.b = pick(20) ? 0 : pick(UINT32_MAX);
				continue;
			}
			for (at = 0; at < sizeof(memory[i]); at++)
				memory[i][at] = (uint8_t)('a' + pick(at < 1 ? 4 : 2));
			if (!pick(10))
				memory[i][0] = KEYCACHE_PREVIOUS;
			params[i].memref.buffer = pick(10) ? memory[i] : NULL;
			params[i].memref.size = i == 0 && pick(4) ? 1 + pick(2)
						: pick(5)         ? 16 * pick(8)
								  : pick(sizeof(memory[i]));
		}
		if ((command == KEYCACHE_TRUST || command == KEYCACHE_ENROL) && types == types_of[command] &&
		    params[0].memref.buffer)
			params[0].memref.size = random_statement(&authority, command, run + 2, memory[0]);
		/* Every result is fine but the one that only a panic gives. */
		res = shim_invoke(command, types, params);
		if (res == TEE_ERROR_TARGET_DEAD) {
			CHECK(!"a random call made the TA panic");
			break;
		}
		if (!res && command < COMMANDS)
			good[command]++;
	}
	/* Of what needs no record, no message and no previous key. */
	for (i = KEYCACHE_SET; i < COMMANDS; i++)
		if (i != KEYCACHE_SEAL && i != KEYCACHE_OPEN && i != KEYCACHE_REENCRYPT && i != KEYCACHE_LOAD &&
		    i != KEYCACHE_FANOUT && i != KEYCACHE_REPAIR && i != KEYCACHE_FORGET)
			CHECK(good[i] || !printf("command %u\n", i));
	authority_free(&authority);
}

void test_get(void)
{
	uint8_t due[32];
	uint8_t key[32];
	size_t bytes;
	struct keycache_record before;
	struct keycache_record later;

	make_key(1, due);
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	EXPECT(set("early", due, 32, 0, &before), TEE_SUCCESS);
	EXPECT(get("early", NULL, key, &bytes), KEYCACHE_GET_OFF);
	/* And to one who asks for a client that there is not. */
	EXPECT(get("nobody", NULL, key, &bytes), KEYCACHE_GET_OFF);

	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), KEYCACHE_ALLOW_GET, 0), TEE_SUCCESS);
	EXPECT(set("late", due, 16, 0, &later), TEE_SUCCESS);
	EXPECT(get("late", NULL, key, &bytes), TEE_SUCCESS);
	CHECK(bytes == 16 && !memcmp(key, due, 16));
	/* A key that was set while it was off does not come out, from the cache or a record or storage. */
	offer = offer_of(&before);
	EXPECT(get("early", &offer, key, &bytes), KEYCACHE_GET_OFF);
	EXPECT(get("early", NULL, key, &bytes), KEYCACHE_GET_OFF);
	EXPECT(record("early", &before), TEE_SUCCESS);
	offer = offer_of(&before);
	EXPECT(evict("early"), TEE_SUCCESS);
	EXPECT(get("early", &offer, key, &bytes), KEYCACHE_GET_OFF);
	/* Nor by a flag that is written into its record. */
	EXPECT(evict("early"), TEE_SUCCESS);
	offer.record.flags |= KEYCACHE_GETTABLE;
	EXPECT(get("early", &offer, key, &bytes), KEYCACHE_FORGED);
	/* Not after it is switched off either. */
	EXPECT(configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(4), 0, 0), TEE_SUCCESS);
	EXPECT(get("late", NULL, key, &bytes), KEYCACHE_GET_OFF);
}
