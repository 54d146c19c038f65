/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request costs: one client's call of the library, to a server in another process of the same machine, over TLS.
 * Each call finds the state that its action names, whether it did is seen by the server's counters, and every answer is
 * checked by another library than the one that gave it.
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/app.h"
#include "cases.h"
#include "places.h"
#include "server.h"

#define MEASURE "request"

#define KEY_BYTES 32
#define NONCE_BYTES 12
#define TAG_BYTES 16

/* Clients that have a key: those that are measured in turn, and others that are used in between. */
#define MEASURED_CLIENTS 8
#define OTHER_CLIENTS 24
#define CLIENTS (MEASURED_CLIENTS + OTHER_CLIENTS)
/* Keys that the TA has room for in cases that measure a miss, at 116 bytes each. */
#define FEW_KEYS "464"
/* How often each client is used before: a policy may take a second look before it keeps a key. */
#define ROUNDS 3

enum verb { GET, SEAL, OPEN, REENCRYPT, SET };
enum state { HIT, MISS, COLD, KNOWN, NEW };

static const struct {
	const char *name;
	enum verb verb;
	enum state state;
} actions[] = {
	{ "get-hit", GET, HIT },
	{ "get-miss", GET, MISS },
	{ "get-cold", GET, COLD },
	{ "seal-hit", SEAL, HIT },
	{ "seal-miss", SEAL, MISS },
	{ "open-hit", OPEN, HIT },
	{ "open-miss", OPEN, MISS },
	{ "reencrypt-hit", REENCRYPT, HIT },
	{ "reencrypt-miss", REENCRYPT, MISS },
	{ "set-known", SET, KNOWN },
	{ "set-new", SET, NEW },
};

/* What the server counts of its keys. */
static const char *const fields[] = { "hits", "record_opens", "slow_reads", "slow_writes", "misses_without_record" };
enum { HITS, RECORD_OPENS, SLOW_READS, SLOW_WRITES, NO_RECORD, FIELDS };

static struct {
	const struct bench_plan *plan;
	enum verb verb;
	enum state state;
	bool naive;
	size_t size;      /* of a message */
	size_t key_bytes; /* of a key, which GET and SET have in its place */
	struct keycache *admin;
	struct keycache *broker;
	struct measured *invoke; /* the server's, in memory of both */
	struct bench_overhead of_invoke;
	uint8_t keys[CLIENTS + 1][KEY_BYTES]; /* the last is of whoever is new */
	uint8_t *plain;
	uint8_t *message;
	uint8_t *answer;
	size_t room;
} own;

static const char *client_name(uint32_t number)
{
	static char names[2][16];
	static unsigned int turn;

	turn ^= 1;
	(void)snprintf(names[turn], sizeof(names[turn]), "client-%03u", (unsigned int)number);
	return names[turn];
}

/* Bytes that differ from one `number` to the next. */
static void fill(uint8_t *bytes, size_t size, uint32_t number)
{
	uint32_t state = number * 2654435761U + 1;

	for (size_t at = 0; at < size; at++) {
		state = state * 1664525U + 1013904223U;
		bytes[at] = (uint8_t)(state >> 24);
	}
}

/* AES-GCM, one message: nonce || ciphertext || tag. Whether it is genuine; sealing cannot fail. */
static bool crypt_message(bool seal, const uint8_t key[KEY_BYTES], uint8_t *plain, uint8_t *message, size_t size)
{
	const EVP_CIPHER *cipher = own.key_bytes == KEY_BYTES ? EVP_aes_256_gcm() : EVP_aes_128_gcm();
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	uint8_t *body = message + NONCE_BYTES;
	uint8_t *to = seal ? body : plain;
	const uint8_t *from = seal ? plain : body;
	int length = 0;
	bool genuine;

	if (!context || !EVP_CipherInit_ex2(context, cipher, key, message, seal, NULL) ||
	    !EVP_CipherUpdate(context, to, &length, from, (int)size) || (size_t)length != size)
		bench_fail("OpenSSL fails at AES-GCM");
	if (!seal && !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, body + size))
		bench_fail("OpenSSL takes no tag");
	genuine = EVP_CipherFinal_ex(context, to + length, &length) == 1;
	if (seal && (!genuine || !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, body + size)))
		bench_fail("OpenSSL gives no tag");
	EVP_CIPHER_CTX_free(context);
	return genuine;
}

static void set(uint32_t client, uint32_t number)
{
	/* What GET fetches has the size that the case names. */
	size_t size = own.verb == GET ? own.key_bytes : KEY_BYTES;

	fill(own.keys[client], size, number);
	server_must(keycache_set(own.admin, client_name(client), own.keys[client], size), own.admin, "SET", client);
}

/* Uses a client's key once, for nothing. */
static void use(uint32_t client)
{
	uint8_t message[TAG_BYTES + KEYCACHE_OVERHEAD];
	size_t size = sizeof(message);

	server_must(keycache_seal(own.broker, client_name(client), own.keys[client], TAG_BYTES, message, &size),
		    own.broker, "SEAL", client);
}

static void use_others(void)
{
	for (uint32_t client = MEASURED_CLIENTS; client < CLIENTS; client++)
		use(client);
}

/* Whether the request found what its action says it must. */
static void check_counts(const uint64_t before[FIELDS], const uint64_t after[FIELDS], uint32_t index)
{
	uint64_t due[FIELDS] = { 0 };
	uint64_t keys = own.verb == REENCRYPT ? 2 : 1;

	if (own.verb == SET)
		due[SLOW_WRITES] = 1;
	else if (own.naive || own.state == COLD)
		due[SLOW_READS] = keys;
	if (own.verb != SET && !own.naive)
		due[own.state == HIT ? HITS : RECORD_OPENS] = keys;
	for (size_t field = 0; field < FIELDS; field++)
		if (after[field] - before[field] != due[field])
			bench_fail("call %u: %s grew by %llu instead of %llu", (unsigned int)index, fields[field],
				   (unsigned long long)(after[field] - before[field]), (unsigned long long)due[field]);
}

/* --- the calls --- */

static void start_server(void)
{
	const char *options[4] = { NULL };
	size_t used = 0;

	if (own.verb == GET)
		options[used++] = "--allow-get";
	if (own.state == MISS) {
		options[used++] = "--bound";
		options[used++] = FEW_KEYS;
	}
	server_start(own.plan, options, MEASURED_ENVIRONMENT);
	own.admin = server_connect(SERVER_ADMIN);
	own.broker = server_connect(SERVER_BROKER);
}

static void stop_server(void)
{
	keycache_close(own.broker);
	keycache_close(own.admin);
	server_stop();
}

/* The client of a call, and the one that REENCRYPT goes to: each is another one than that of the call before. */
static uint32_t client_of(uint32_t index)
{
	return own.state == NEW ? CLIENTS : index % MEASURED_CLIENTS;
}

static uint32_t other_of(uint32_t index)
{
	return (index + 1) % MEASURED_CLIENTS;
}

static const char *name_of(uint32_t index)
{
	return client_name(own.state == NEW ? CLIENTS + index : client_of(index));
}

/* What is there before the first call. */
static void prepare(void)
{
	server_prepare(NULL, NULL);
	server_program(MEASURED_SERVER);
	own.of_invoke = places_calibrate(MEASURED_LIBRARY);
	start_server();
	for (uint32_t client = 0; client < CLIENTS; client++)
		set(client, client);
	for (int round = 0; own.state == HIT && round < ROUNDS; round++)
		for (uint32_t client = 0; client < MEASURED_CLIENTS; client++)
			use(client);
	own.invoke = places_map(MEASURED_FILE);
}

/* What is there before a call. */
static void prepare_call(uint32_t index)
{
	fill(own.plain, own.size, index);
	fill(own.message, NONCE_BYTES, ~index);
	(void)crypt_message(true, own.keys[client_of(index)], own.plain, own.message, own.size);
	memset(own.answer, 0, own.room);
	if (own.state == MISS && !own.naive)
		use_others();
	if (own.state == COLD) {
		/* Its records were in memory alone. */
		stop_server();
		start_server();
	}
	if (own.verb == SET)
		fill(own.keys[client_of(index)], own.key_bytes, CLIENTS + index);
}

/* The call itself; `size` is what came back. */
static struct bench_span call(uint32_t index, size_t *size)
{
	const char *name = name_of(index);
	const char *other = client_name(other_of(index));
	const uint8_t *key = own.keys[client_of(index)];
	size_t sealed = own.size + KEYCACHE_OVERHEAD;
	enum keycache_error error = KEYCACHE_OK;
	struct keycache *handle = own.verb == SET ? own.admin : own.broker;
	struct bench_span span;

	*size = own.room;
	span.begin = bench_region_begin();
	switch (own.verb) {
	case GET:
		error = keycache_get(handle, name, own.answer, size);
		break;
	case SEAL:
		error = keycache_seal(handle, name, own.plain, own.size, own.answer, size);
		break;
	case OPEN:
		error = keycache_open(handle, name, own.message, sealed, own.answer, size);
		break;
	case REENCRYPT:
		error = keycache_reencrypt(handle, name, other, own.message, sealed, own.answer, size);
		break;
	case SET:
		error = keycache_set(handle, name, key, own.key_bytes);
		break;
	}
	span.end = bench_region_end();
	server_must(error, handle, bench_parameter(own.plan, "action"), index);
	return span;
}

/* Whether the answer is right. */
static void check_answer(uint32_t index, size_t size)
{
	uint32_t under = own.verb == REENCRYPT ? other_of(index) : client_of(index);
	size_t sealed = own.size + KEYCACHE_OVERHEAD;
	bool right = false;

	switch (own.verb) {
	case GET:
		right = size == own.key_bytes && !memcmp(own.answer, own.keys[under], size);
		break;
	case OPEN:
		right = size == own.size && !memcmp(own.answer, own.plain, own.size);
		break;
	case SEAL:
	case REENCRYPT:
		memset(own.plain, 0, own.size);
		right = size == sealed && crypt_message(false, own.keys[under], own.plain, own.answer, own.size);
		fill(own.message, own.size, index);
		right = right && !memcmp(own.plain, own.message, own.size);
		break;
	case SET:
		/* A message under the new key opens. */
		(void)crypt_message(true, own.keys[under], own.plain, own.message, own.size);
		server_must(keycache_open(own.broker, name_of(index), own.message, sealed, own.answer, &size),
			    own.broker, "OPEN", index);
		right = size == own.size && !memcmp(own.answer, own.plain, own.size);
		break;
	}
	if (!right)
		bench_fail("call %u: the answer is wrong", (unsigned int)index);
}

static void one_call(uint32_t index, uint64_t overhead)
{
	uint64_t before[FIELDS];
	uint64_t after[FIELDS];
	struct bench_span span;
	struct measured invoke;
	struct measured_ta ta;
	size_t size;

	prepare_call(index);
	server_counts(own.admin, fields, before, FIELDS);
	(void)places_take(true);
	server_settle();
	own.invoke->total = (struct bench_total){ 0 };
	own.invoke->armed = 1;
	span = call(index, &size);
	server_settle();
	own.invoke->armed = 0;
	invoke = *own.invoke;
	invoke.overhead = own.of_invoke;
	ta = places_take(false);
	server_counts(own.admin, fields, after, FIELDS);
	check_counts(before, after, index);
	check_answer(index, size);

	places_record(own.plan, MEASURE, STORAGE_PLACE, index, &ta.storage, 0, ta.commands.total.begin);
	places_record(own.plan, MEASURE, TA_PLACE, index, &ta.commands, places_added(&ta.storage), 0);
	places_record(own.plan, MEASURE, INVOKE_PLACE, index, &invoke, places_added(&ta.commands), 0);
	bench_record_sample(own.plan, MEASURE, CLIENT_PLACE, index, span, overhead, places_added(&invoke));
}

static void parse(void)
{
	const char *wanted = bench_parameter(own.plan, "action");
	const char *policy = bench_parameter(own.plan, "policy");
	size_t action = 0;

	while (action < sizeof(actions) / sizeof(actions[0]) && (!wanted || strcmp(wanted, actions[action].name) != 0))
		action++;
	if (action == sizeof(actions) / sizeof(actions[0]))
		bench_fail("unknown action: %s", wanted ? wanted : "none");
	own.verb = actions[action].verb;
	own.state = actions[action].state;
	own.naive = policy && !strcmp(policy, "naive");
	own.size = bench_parameter_bytes(own.plan, "size", 0);
	if (!own.size || own.size > KEYCACHE_MOST)
		bench_fail("size %zu is out of range", own.size);
	own.key_bytes = KEY_BYTES;
	if (own.verb == GET || own.verb == SET) {
		own.key_bytes = own.size;
		/* Of the message that shows whether a key was set. */
		own.size = KEY_BYTES;
	}
}

void cost_case(const struct bench_plan *plan)
{
	struct bench_overhead overhead;
	struct measured_ta ta;

	own.plan = plan;
	parse();
	own.room = own.size + KEYCACHE_OVERHEAD + KEY_BYTES;
	own.plain = malloc(own.room);
	own.message = malloc(own.room);
	own.answer = malloc(own.room);
	if (!own.plain || !own.message || !own.answer)
		bench_fail("no memory for the messages");
	prepare();

	ta = places_take(false);
	bench_record_overhead(STORAGE_PLACE, BENCH_CLOCK_NAME, ta.storage.overhead);
	bench_record_overhead(TA_PLACE, BENCH_CLOCK_NAME, ta.commands.overhead);
	bench_record_overhead(INVOKE_PLACE, BENCH_CLOCK_NAME, own.of_invoke);
	overhead = bench_calibrate_place(CLIENT_PLACE);
	for (uint32_t index = 0; index < bench_calls(plan); index++)
		one_call(index, overhead.count);
	bench_record_check("answers-right", MEASURE, 1);
	bench_record_check("keys-found-where-they-must-be", MEASURE, 1);
	stop_server();
}
