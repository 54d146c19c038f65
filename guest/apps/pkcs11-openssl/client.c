/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenSSL with a key in OP-TEE's PKCS#11 TA, by its provider pkcs11 and libckteec. Each sample is one step of a server: it loads
 * the key, signs, answers a TLS 1.3 client, or does all of loading, signing and ending. It is counted around it (client) and within
 * the TA (ta). After each step there is a signature that the host checks. Then all steps are made once more by a module that counts
 * the calls of PKCS#11; the measured ones go to libckteec itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/message.h"
#include "../../bench/record.h"
#include "../common/app.h"
#include "../pkcs11/measured/measured.h"
#include "../pkcs11/token.h"
#include "counted/counted.h"
#include "openssl.h"

#define MEASURE "openssl"
/* What a server signs in TLS 1.3 with SHA-256: 64 spaces, 33 bytes of context, a zero, a hash of 32 bytes. */
#define SIGNED_BYTES 130
#define MOST_OTHERS 64
#define MOST_CALLS 1000

static struct bench_overhead inside;
static struct bench_overhead overhead;
static uint8_t point[OPENSSL_POINT_BYTES];
static struct openssl_signature signature;
static uint8_t *message;
static const char *configuration;
static bool in_token;
static bool counting;
/* The commands of the TA that each measured step took. */
static uint32_t commands[MOST_CALLS];

/* A step: what must be done before it, the step, and what brings back the state of before; `late` is whether it loads the key. */
struct step {
	const char *name;
	void (*before)(void);
	void (*call)(void);
	void (*after)(void);
	bool late;
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

/* The TA as after a boot: the next session is of a new instance. */
static void restart(void)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_NONE, TEEC_NONE, TEEC_NONE) };

	if (TEEC_InvokeCommand(&app_session, MEASURED_RESTART, &op, NULL) != TEEC_ERROR_TARGET_DEAD)
		bench_fail("the TA did not end");
	TEEC_CloseSession(&app_session);
}

/* --- the steps --- */

static void load(void)
{
	if (in_token)
		openssl_load(configuration);
	else
		openssl_make();
}

static void sign(void)
{
	openssl_sign(message, SIGNED_BYTES, &signature);
}

static void whole(void)
{
	load();
	sign();
	openssl_unload();
}

static void sign_and_unload(void)
{
	sign();
	openssl_unload();
}

static void finish_and_sign(void)
{
	openssl_finish();
	sign();
}

static const struct step steps[] = {
	{ "load", nothing, load, sign_and_unload, true },
	{ "sign", nothing, sign, nothing, false },
	{ "handshake", openssl_hello, openssl_answer, finish_and_sign, false },
	{ "whole", nothing, whole, nothing, true },
};

static const struct step *step_of(const struct bench_plan *plan)
{
	const char *name = bench_parameter(plan, "action");

	for (size_t i = 0; name && i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!strcmp(name, steps[i].name))
			return &steps[i];
	bench_fail("unknown action: %s", name ? name : "none");
}

/* --- what is around them --- */

/* The token with its key and the others, and the TA as after a boot. */
static void prepare(const struct bench_plan *plan)
{
	size_t others = bench_parameter_bytes(plan, "others", 0);
	struct token_key key = { .kind = TOKEN_P256, .stored = true };
	CK_SESSION_HANDLE session;

	if (others > MOST_OTHERS)
		bench_fail("%zu other keys", others);
	app_must(app_open(&app_session), "session", 0);
	(void)take(false);
	token_initialize();
	token_create();
	session = token_open();
	token_login(session);
	for (size_t i = 0; i <= others; i++)
		token_generate(session, &key, (uint8_t)(TOKEN_KEY + others - i));
	token_read_public(session, &key);
	if (key.open_size != sizeof(point) + 2)
		bench_fail("a public key of %zu bytes", key.open_size);
	memcpy(point, key.open + 2, sizeof(point));
	token_logout(session);
	token_close(session);
	token_finalize();
	restart();
}

/* The signature of the step, or of what came after it, is the key's; one with a bit turned is not. */
static void check(void)
{
	if (!openssl_accepts(point, message, SIGNED_BYTES, &signature))
		bench_fail("OpenSSL does not accept what the key signed");
	signature.bytes[signature.size - 1] ^= 1;
	if (openssl_accepts(point, message, SIGNED_BYTES, &signature))
		bench_fail("OpenSSL accepts what was changed");
	signature.bytes[signature.size - 1] ^= 1;
}

static void record_evidence(uint32_t index)
{
	record_begin("evidence");
	record_text("measure", MEASURE);
	record_number("index", index);
	record_text("holder", in_token ? "token" : "process");
	record_number("size", SIGNED_BYTES);
	record_hex("open", point, sizeof(point));
	record_hex("result", signature.bytes, signature.size);
	record_end();
}

static void record_samples(const struct bench_plan *plan, uint32_t index, struct measured *found,
			   struct bench_span span)
{
	/* Where no command was asked for, the TA's part begins and ends with the step. */
	if (!found->total.spans)
		found->total.begin = found->total.end = span.begin;
	if (!index) {
		inside = found->overhead;
		bench_record_overhead(TA_PLACE, BENCH_CLOCK_NAME, inside);
	}
	bench_record_total(plan, MEASURE, TA_PLACE, index, &found->total, inside.count, 0);
	bench_record_sample(plan, MEASURE, CLIENT_PLACE, index, span, overhead.count,
			    found->total.spans * inside.nested);
	commands[index] = found->total.spans;
}

static void record_calls(uint32_t index, const struct measured *found)
{
	uint64_t calls[COUNTED_FUNCTIONS];
	uint64_t all = 0;
	char text[1000];
	size_t used = 0;

	counted_take(calls);
	text[0] = '\0';
	for (size_t i = 0; i < COUNTED_FUNCTIONS; i++) {
		if (!calls[i])
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sC_%s %llu", used ? ", " : "",
					 counted_name(i), (unsigned long long)calls[i]);
		if (used >= sizeof(text))
			bench_fail("too many kinds of calls");
		all += calls[i];
	}
	if (found->total.spans != commands[index])
		bench_fail("%u commands when calls are counted, %u when not", (unsigned int)found->total.spans,
			   (unsigned int)commands[index]);
	record_begin("calls");
	record_text("measure", MEASURE);
	record_number("index", index);
	record_number("calls", all);
	record_number("commands", found->total.spans);
	record_text("functions", used ? text : "none");
	record_end();
}

static void make(const struct bench_plan *plan, const struct step *step, uint32_t index)
{
	/* Before the first step of a process no TA is loaded. */
	bool fresh = !index && step->late;
	uint64_t before[COUNTED_FUNCTIONS];
	struct measured found;
	struct bench_span span;

	message_mark(message, SIGNED_BYTES, index);
	step->before();
	if (!fresh)
		(void)take(true);
	counted_take(before);
	span.begin = bench_region_begin();
	step->call();
	span.end = bench_region_end();
	if (fresh)
		app_must(app_open(&app_session), "session", 0);
	found = take(false);
	if (counting)
		record_calls(index, &found);
	else
		record_samples(plan, index, &found, span);
	step->after();
	check();
	if (!counting)
		record_evidence(index);
}

/* All calls, the first of them with a TA that was started anew. */
static void pass(const struct bench_plan *plan, const struct step *step)
{
	bool tls = step->call == openssl_answer;

	configuration = counting ? "/etc/counted.cnf" : "/etc/pkcs11.cnf";
	if (!step->late) {
		app_must(app_open(&app_session), "session", 0);
		(void)take(false);
		load();
		if (!in_token)
			openssl_point(point);
		if (tls)
			openssl_begin_tls(point);
	}
	for (uint32_t index = 0; index < bench_calls(plan); index++)
		make(plan, step, index);
	if (!step->late) {
		if (tls)
			openssl_end_tls();
		openssl_unload();
	}
}

static void run_case(const struct bench_plan *plan)
{
	const struct step *step = step_of(plan);
	const char *holder = bench_parameter(plan, "holder");

	in_token = !holder || !strcmp(holder, "token");
	if (bench_calls(plan) > MOST_CALLS)
		bench_fail("more than %d calls", MOST_CALLS);
	message = message_make(SIGNED_BYTES);
	prepare(plan);
	overhead = bench_calibrate_place(CLIENT_PLACE);
	pass(plan, step);
	restart();
	counting = true;
	pass(plan, step);
	bench_record_check("public-key-accepts", MEASURE, true);
	bench_record_check("changed-refused", MEASURE, true);
	TEEC_CloseSession(&app_session);
}

const struct app app = { .uuid = { 0xfd02c9da, 0x306c, 0x48c7, { 0xa4, 0x9c, 0xbb, 0xd8, 0x27, 0xae, 0x86, 0xee } },
			 .run = run_case,
			 .opens_sessions = true };
