/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OP-TEE's PKCS#11 TA through libckteec. Each sample is one step of an application: the call or the calls of PKCS#11 that it
 * takes, counted around them (client) and within the TA (ta). After each step the key signs, authenticates or encrypts something
 * that the host checks: so a session that was opened is one that works.
 */
#include <stdlib.h>
#include <string.h>

#include "../../bench/message.h"
#include "../../bench/record.h"
#include "../common/app.h"
#include "measured/measured.h"
#include "token.h"

#define MEASURE "step"
/* What id's byte has room for; the TA's heap may have less. */
#define MOST_OTHERS 64

static const char *const kind_names[TOKEN_KINDS] = {
	[TOKEN_P256] = "ecdsa-p256",  [TOKEN_P384] = "ecdsa-p384",   [TOKEN_RSA2048] = "rsa2048-pss",
	[TOKEN_HMAC] = "hmac-sha256", [TOKEN_AES256] = "aes256-gcm",
};
/* What is signed: a digest as long as the curve's field, and as long a message for RSA. Of a secret key the case names it. */
static const size_t message_sizes[TOKEN_KINDS] = { [TOKEN_P256] = 32, [TOKEN_P384] = 48, [TOKEN_RSA2048] = 32 };

static struct bench_overhead inside;
static struct bench_overhead overhead;
static CK_SESSION_HANDLE session;
static struct token_key key;
static struct token_bytes signature;
static uint8_t iv[TOKEN_IV_BYTES];
static uint8_t *message;
static uint8_t *sealed;
static size_t size;
static CK_RV verified;

/* A step: what must be done before it, the step, and what brings back the state of before. */
struct step {
	const char *name;
	void (*before)(void);
	void (*call)(void);
	void (*after)(void);
};

static void nothing(void)
{
}

static struct measured take(bool arm)
{
	struct measured found = { 0 };
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_VALUE_INPUT, TEEC_NONE,
							     TEEC_NONE) };

	op.params[0].tmpref.buffer = &found;
	op.params[0].tmpref.size = sizeof(found);
	op.params[1].value.a = arm;
	app_must(TEEC_InvokeCommand(&app_session, MEASURED_TAKE, &op, NULL), "counts of the TA", 0);
	return found;
}

/* A new instance of the TA, as after a boot. */
static void restart(void)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_NONE, TEEC_NONE, TEEC_NONE) };

	if (TEEC_InvokeCommand(&app_session, MEASURED_RESTART, &op, NULL) != TEEC_ERROR_TARGET_DEAD)
		bench_fail("the TA did not end");
	TEEC_CloseSession(&app_session);
}

/* --- the steps --- */

static void initialize(void)
{
	token_initialize();
}

static void open_session(void)
{
	session = token_open();
}

static void login(void)
{
	token_login(session);
}

static void find(void)
{
	key.private = token_find(session, key.kind < TOKEN_HMAC ? CKO_PRIVATE_KEY : CKO_SECRET_KEY, TOKEN_KEY);
}

static void generate(void)
{
	token_generate(session, &key, TOKEN_KEY);
}

static void sign(void)
{
	token_sign(session, &key, message, size, &signature);
}

static void verify(void)
{
	verified = token_verify(session, &key, message, size, &signature);
}

static void encrypt(void)
{
	token_encrypt(session, &key, iv, message, size, sealed);
}

static void leave(void)
{
	token_logout(session);
	token_close(session);
	token_finalize();
}

/* All that a process does which signs once. */
static void whole(void)
{
	token_initialize();
	open_session();
	login();
	find();
	sign();
	leave();
}

/* --- what is around them --- */

static void find_all(void)
{
	find();
	if (key.kind < TOKEN_HMAC)
		key.public = token_find(session, CKO_PUBLIC_KEY, TOKEN_KEY);
}

static bool refuses(CK_RV rv)
{
	return rv == CKR_SIGNATURE_INVALID || rv == CKR_ENCRYPTED_DATA_INVALID;
}

/* What a step signed or encrypted the token takes back, and nothing else: a bit of it is turned. */
static void check(void)
{
	bool refused;

	if (key.kind == TOKEN_AES256) {
		uint8_t *opened = message_make(size);

		memset(opened, 0, size);
		token_must(token_decrypt(session, &key, iv, sealed, size, opened), "C_Decrypt");
		if (memcmp(opened, message, size) != 0)
			bench_fail("the token does not decrypt what it encrypted");
		sealed[size] ^= 1;
		/* The standard's answer is CKR_ENCRYPTED_DATA_INVALID; OP-TEE 4.10's TA has one for signatures and tags. */
		refused = refuses(token_decrypt(session, &key, iv, sealed, size, opened));
		sealed[size] ^= 1;
		free(opened);
	} else {
		token_must(token_verify(session, &key, message, size, &signature), "C_Verify");
		signature.bytes[signature.size - 1] ^= 1;
		refused = refuses(token_verify(session, &key, message, size, &signature));
		signature.bytes[signature.size - 1] ^= 1;
	}
	if (!refused)
		bench_fail("the token accepts what was changed");
}

static void record_evidence(uint32_t index)
{
	record_begin("evidence");
	record_text("measure", MEASURE);
	record_number("index", index);
	record_text("mechanism", kind_names[key.kind]);
	record_number("size", size);
	record_hex("open", key.open, key.open_size);
	record_hex("iv", iv, key.kind == TOKEN_AES256 ? sizeof(iv) : 0);
	if (key.kind == TOKEN_AES256)
		record_hex("result", sealed + size, TOKEN_TAG_BYTES);
	else
		record_hex("result", signature.bytes, signature.size);
	record_end();
}

static void sign_after_login(void)
{
	find_all();
	sign();
	check();
	token_logout(session);
}

static void sign_after_opening(void)
{
	login();
	sign_after_login();
	token_close(session);
}

static void sign_after_initializing(void)
{
	open_session();
	sign_after_opening();
	token_finalize();
}

static void sign_and_check(void)
{
	sign();
	check();
}

static void find_and_check(void)
{
	find_all();
	sign_and_check();
}

static void check_whole(void)
{
	token_initialize();
	open_session();
	login();
	find_all();
	check();
	leave();
}

static void sign_and_destroy(void)
{
	token_read_public(session, &key);
	sign_and_check();
	token_destroy(session, &key);
}

static void check_verified(void)
{
	token_must(verified, "C_Verify");
	check();
}

static const struct step steps[] = {
	{ "initialize", nothing, initialize, sign_after_initializing },
	{ "open-session", nothing, open_session, sign_after_opening },
	{ "login", nothing, login, sign_after_login },
	{ "find", nothing, find, find_and_check },
	{ "generate", nothing, generate, sign_and_destroy },
	{ "sign", nothing, sign, check },
	{ "verify", sign, verify, check_verified },
	{ "encrypt", nothing, encrypt, check },
	{ "whole", nothing, whole, check_whole },
};

static const struct step *step_of(const struct bench_plan *plan)
{
	const char *name = bench_parameter(plan, "action");

	for (size_t i = 0; name && i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!strcmp(name, steps[i].name))
			return &steps[i];
	bench_fail("unknown action: %s", name ? name : "none");
}

static enum token_kind kind_of(const struct bench_plan *plan)
{
	const char *name = bench_parameter(plan, "mechanism");

	for (int kind = 0; kind < TOKEN_KINDS; kind++)
		if (!strcmp(name ? name : kind_names[TOKEN_P256], kind_names[kind]))
			return (enum token_kind)kind;
	bench_fail("unknown mechanism: %s", name);
}

static void make_key(void)
{
	if (key.kind < TOKEN_HMAC) {
		generate();
		token_read_public(session, &key);
	} else {
		token_import(session, &key, TOKEN_KEY);
	}
}

/* Key pairs of no use, which a search has to tell from the one that is wanted. */
static void make_others(const struct bench_plan *plan)
{
	size_t others = bench_parameter_bytes(plan, "others", 0);

	if (others > MOST_OTHERS)
		bench_fail("%zu other keys", others);
	for (size_t i = 0; i < others; i++) {
		struct token_key other = { .kind = TOKEN_P256, .stored = true };

		token_generate(session, &other, (uint8_t)(TOKEN_KEY + 1 + i));
	}
}

/* The token with its keys, and the TA as after a boot. */
static void prepare(const struct bench_plan *plan, bool made_by_step)
{
	app_must(app_open(&app_session), "session", 0);
	(void)take(false);
	token_initialize();
	token_create();
	open_session();
	login();
	if (key.stored && !made_by_step)
		make_key();
	make_others(plan);
	leave();
	restart();
}

static void measured(const struct bench_plan *plan, const struct step *step, uint32_t index)
{
	/* Before the first call of `initialize` and `whole` no TA is loaded. */
	bool fresh = !index && (step->call == initialize || step->call == whole);
	struct measured found;
	struct bench_span span;

	message_mark(message, size, index);
	for (int i = 0; i < 4; i++)
		iv[i] = (uint8_t)(index >> (8 * i));
	step->before();
	if (!fresh)
		(void)take(true);
	span.begin = bench_region_begin();
	step->call();
	span.end = bench_region_end();
	if (fresh)
		app_must(app_open(&app_session), "session", 0);
	found = take(false);
	if (!index) {
		inside = found.overhead;
		bench_record_overhead(TA_PLACE, BENCH_CLOCK_NAME, inside);
	}
	bench_record_total(plan, MEASURE, TA_PLACE, index, &found.total, inside.count, 0);
	bench_record_sample(plan, MEASURE, CLIENT_PLACE, index, span, overhead.count,
			    found.total.spans * inside.nested);
	step->after();
	record_evidence(index);
}

static void run_case(const struct bench_plan *plan)
{
	const struct step *step = step_of(plan);
	const char *object = bench_parameter(plan, "object");
	bool late = step->call == initialize || step->call == whole;

	key.kind = kind_of(plan);
	key.stored = !object || !strcmp(object, "token");
	size = bench_parameter_bytes(plan, "message", message_sizes[key.kind]);
	message = message_make(size);
	sealed = message_make(size + TOKEN_TAG_BYTES);
	prepare(plan, step->call == generate);
	overhead = bench_calibrate_place(CLIENT_PLACE);
	if (!late) {
		app_must(app_open(&app_session), "session", 0);
		(void)take(false);
		token_initialize();
	}
	if (!late && step->call != open_session) {
		open_session();
		if (step->call != login)
			login();
	}
	if (!key.stored && step->call != generate)
		make_key();
	else if (step->call == sign || step->call == verify || step->call == encrypt)
		find_all();
	for (uint32_t index = 0; index < bench_calls(plan); index++)
		measured(plan, step, index);
	bench_record_check("token-accepts", MEASURE, true);
	bench_record_check("changed-refused", MEASURE, true);
	TEEC_CloseSession(&app_session);
}

const struct app app = { .uuid = { 0xfd02c9da, 0x306c, 0x48c7, { 0xa4, 0x9c, 0xbb, 0xd8, 0x27, 0xae, 0x86, 0xee } },
			 .run = run_case,
			 .opens_sessions = true };
