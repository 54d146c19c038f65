/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What relaying a message costs: one client publishes, the others receive, all of them in this process and each by a connection of
 * its own to the broker in another one. What they get is checked: each opens its own copy by its own key, and none could have opened
 * another's. Without re-encryption they get what was published, which only the publisher's key opens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../common/app.h"
#include "../cases.h"
#include "../places.h"
#include "../server.h"
#include "broker.h"
#include "peer.h"

#define MESSAGE "message"
#define BURST "burst"
#define RELAY_PLACE "relay"

#define TOPIC "news"
#define ACL "admin " SERVER_ADMIN "\nrelay " SERVER_BROKER " * *\n"
#define PUBLISHER "publisher"
#define KEY_BYTES 32
#define MOST_SUBSCRIBERS 64
#define NAME_BYTES 16
/* Messages of a burst. Mosquitto has at most 20 in flight to a client. */
#define BURST_MESSAGES 8
/* How often messages are sent before any is measured: a policy may take a second look before it keeps a key. */
#define ROUNDS 3

/* Who re-encrypts, and where it has the keys. */
enum relay { OFF, REE, HIT, MISS, NAIVE };

static const char *const relays[] = { "off", "ree", "hit", "miss", "naive" };
/* What the server counts when it uses a key, by relay. */
static const char *const counters[] = { NULL, "hits", "hits", "record_opens", "slow_reads" };

static struct {
	const struct bench_plan *plan;
	enum relay relay;
	uint32_t subscribers;
	unsigned int qos;
	size_t size;    /* of a text */
	size_t payload; /* of what carries it */
	struct keycache *admin;
	struct peer *publisher;
	struct peer *subscriber[MOST_SUBSCRIBERS];
	char names[1 + MOST_SUBSCRIBERS][NAME_BYTES]; /* the publisher's, and the subscribers' */
	uint8_t keys[1 + MOST_SUBSCRIBERS][KEY_BYTES];
	uint8_t *texts;    /* of a burst */
	uint8_t *payloads; /* as they are published */
	uint8_t *got;      /* by each subscriber */
	uint8_t *opened;
	struct measured *invoke; /* the server's, in memory of both */
	struct measured *asked;  /* the plugin's */
	struct bench_overhead of_invoke;
	struct bench_overhead of_relay;
} own;

/* Bytes that differ from one `number` to the next. */
static void fill(uint8_t *bytes, size_t size, uint32_t number)
{
	uint32_t state = number * 2654435761U + 1;

	for (size_t at = 0; at < size; at++) {
		state = state * 1664525U + 1013904223U;
		bytes[at] = (uint8_t)(state >> 24);
	}
}

static uint8_t *copy_of(uint32_t subscriber, uint32_t message)
{
	return own.got + ((size_t)subscriber * BURST_MESSAGES + message) * own.payload;
}

/* --- before --- */

static void seal(uint32_t count, uint32_t number)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t size = own.payload;

		fill(own.texts + i * own.size, own.size, number * BURST_MESSAGES + i);
		if (keycache_payload_seal(PUBLISHER, own.keys[0], KEY_BYTES, own.texts + i * own.size, own.size,
					  own.payloads + i * own.payload, &size) ||
		    size != own.payload)
			bench_fail("a payload of %zu bytes cannot be sealed", own.size);
	}
}

static void start_server(void)
{
	static const char *const hit[] = { "--policy", "smart", NULL };
	static const char *const miss[] = { "--policy", "none", NULL };
	static const char *const naive[] = { "--naive", NULL };

	if (own.relay == REE) {
		if (mkdir("/tmp/native", 0700))
			bench_fail("/tmp/native cannot be made");
		server_program(MEASURED_NATIVE);
		server_start(own.plan, hit, MEASURED_NATIVE_ENVIRONMENT);
	} else {
		server_program(MEASURED_SERVER);
		server_start(own.plan, own.relay == HIT ? hit : own.relay == MISS ? miss : naive, MEASURED_ENVIRONMENT);
	}
	own.admin = server_connect(SERVER_ADMIN);
	for (uint32_t i = 0; i <= own.subscribers; i++)
		server_must(keycache_set(own.admin, own.names[i], own.keys[i], KEY_BYTES), own.admin, "SET", i);
}

static void prepare(void)
{
	const char *names[2 + MOST_SUBSCRIBERS] = { NULL };
	/* Of a PUBLISH besides its payload. */
	size_t room = own.payload + 2 + sizeof(TOPIC) + 2;

	for (uint32_t i = 0; i <= own.subscribers; i++) {
		if (i)
			(void)snprintf(own.names[i], NAME_BYTES, "subscriber-%02u", (unsigned int)i);
		else
			(void)snprintf(own.names[i], NAME_BYTES, PUBLISHER);
		fill(own.keys[i], KEY_BYTES, i);
		names[i] = own.names[i];
	}
	server_prepare(names, ACL);
	own.of_invoke = places_calibrate(MEASURED_LIBRARY);
	own.of_relay = places_calibrate(MEASURED_PLUGIN_HERE);
	if (own.relay != OFF)
		start_server();
	broker_start(own.relay != OFF);
	own.publisher = peer_connect(PUBLISHER, room);
	for (uint32_t i = 0; i < own.subscribers; i++) {
		own.subscriber[i] = peer_connect(own.names[1 + i], room);
		peer_subscribe(own.subscriber[i], TOPIC, own.qos);
	}
	own.invoke = places_map(MEASURED_FILE);
	own.asked = places_map(MEASURED_RELAY_FILE);
}

/* --- a message --- */

/* Publishes so many, and returns when everybody has them all and each confirmation that a client waits for has come. */
static struct bench_span relay(uint32_t count)
{
	uint16_t ids[MOST_SUBSCRIBERS][BURST_MESSAGES];
	struct bench_span span;

	span.begin = bench_region_begin();
	for (uint32_t i = 0; i < count; i++)
		peer_publish(own.publisher, TOPIC, own.qos, (uint16_t)(1 + i), own.payloads + i * own.payload,
			     own.payload);
	for (uint32_t i = 0; own.qos == 2 && i < count; i++)
		peer_answer(own.publisher, PEER_PUBREL, peer_await(own.publisher, PEER_PUBREC));
	for (uint32_t to = 0; to < own.subscribers; to++) {
		for (uint32_t i = 0; i < count; i++)
			ids[to][i] = peer_receive(own.subscriber[to], TOPIC, own.qos, copy_of(to, i), own.payload);
		for (uint32_t i = 0; own.qos && i < count; i++)
			peer_answer(own.subscriber[to], own.qos == 2 ? PEER_PUBREC : PEER_PUBACK, ids[to][i]);
	}
	for (uint32_t i = 0; own.qos && i < count; i++)
		(void)peer_await(own.publisher, own.qos == 2 ? PEER_PUBCOMP : PEER_PUBACK);
	for (uint32_t to = 0; own.qos == 2 && to < own.subscribers; to++)
		for (uint32_t i = 0; i < count; i++)
			peer_answer(own.subscriber[to], PEER_PUBCOMP, peer_await(own.subscriber[to], PEER_PUBREL));
	span.end = bench_region_end();
	return span;
}

static void check(uint32_t count)
{
	for (uint32_t to = 0; to < own.subscribers; to++) {
		for (uint32_t i = 0; i < count; i++) {
			size_t size = own.payload;
			const uint8_t *key = own.keys[own.relay == OFF ? 0 : 1 + to];

			if (keycache_payload_open(key, KEY_BYTES, copy_of(to, i), own.payload, own.opened, &size) ||
			    size != own.size || memcmp(own.opened, own.texts + i * own.size, size) != 0)
				bench_fail("what %s got does not open, or is another text", own.names[1 + to]);
			/* Each has one of its own, which is not what was published. */
			for (uint32_t other = 0; own.relay != OFF && other < to; other++)
				if (!memcmp(copy_of(to, i), copy_of(other, i), own.payload))
					bench_fail("two subscribers got the same");
			if ((own.relay == OFF) != !memcmp(copy_of(to, i), own.payloads + i * own.payload, own.payload))
				bench_fail("the publisher's payload went where it must not, or did not where it must");
		}
	}
}

/* How many keys a message takes: each receiver's, and the sender's as often as the TA is asked. */
static uint64_t uses_due(uint64_t asked)
{
	switch (own.relay) {
	case OFF:
		return 0;
	case REE:
		/* The TA is in the server: how often it was asked is not seen. */
		return own.subscribers + 1;
	case NAIVE:
		return 2 * (uint64_t)own.subscribers;
	default:
		return own.subscribers + asked;
	}
}

static uint64_t uses(void)
{
	return own.relay == OFF ? 0 : server_count(own.admin, counters[own.relay]);
}

static void one_message(uint32_t index, uint64_t overhead)
{
	uint64_t before;
	struct bench_span span;
	struct measured invoke;
	struct measured asked;
	struct measured_ta ta;
	uint64_t begin;

	seal(1, index);
	before = uses();
	(void)places_take(true);
	server_settle();
	own.invoke->total = own.asked->total = (struct bench_total){ 0 };
	own.invoke->armed = own.asked->armed = 1;
	span = relay(1);
	server_settle();
	own.invoke->armed = own.asked->armed = 0;
	invoke = *own.invoke;
	invoke.overhead = own.of_invoke;
	asked = *own.asked;
	asked.overhead = own.of_relay;
	ta = places_take(false);
	before = uses() - before;
	/* A payload that is too long for one call of the TA in the server's process is relayed by several. */
	if (own.relay == REE ? before < uses_due(0) : before != uses_due(invoke.total.spans))
		bench_fail("message %u: %llu keys were used, %llu were due", (unsigned int)index,
			   (unsigned long long)before, (unsigned long long)uses_due(invoke.total.spans));
	if (asked.total.spans != (own.relay != OFF))
		bench_fail("message %u: the plugin asked the key cache %llu times", (unsigned int)index,
			   (unsigned long long)asked.total.spans);
	check(1);

	/* A place that no message goes through is where the one around it begins. */
	begin = asked.total.spans ? asked.total.begin : span.begin;
	places_record(own.plan, MESSAGE, STORAGE_PLACE, index, &ta.storage, 0,
		      ta.commands.total.spans ? ta.commands.total.begin : begin);
	places_record(own.plan, MESSAGE, TA_PLACE, index, &ta.commands, places_added(&ta.storage), begin);
	places_record(own.plan, MESSAGE, INVOKE_PLACE, index, &invoke, places_added(&ta.commands), begin);
	places_record(own.plan, MESSAGE, RELAY_PLACE, index, &asked, places_added(&invoke), span.begin);
	bench_record_sample(own.plan, MESSAGE, CLIENT_PLACE, index, span, overhead, places_added(&asked));
}

static void one_burst(uint32_t index, uint64_t overhead)
{
	struct bench_span span;

	seal(BURST_MESSAGES, index);
	server_settle();
	span = relay(BURST_MESSAGES);
	server_settle();
	check(BURST_MESSAGES);
	bench_record_sample(own.plan, BURST, CLIENT_PLACE, index, span, overhead, 0);
}

static void parse(void)
{
	const char *relay = bench_parameter(own.plan, "relay");
	size_t which = 0;

	while (which < sizeof(relays) / sizeof(relays[0]) && (!relay || strcmp(relay, relays[which]) != 0))
		which++;
	if (which == sizeof(relays) / sizeof(relays[0]))
		bench_fail("unknown relay: %s", relay ? relay : "none");
	own.relay = (enum relay)which;
	own.size = bench_parameter_bytes(own.plan, "size", 0);
	own.subscribers = (uint32_t)bench_parameter_bytes(own.plan, "subscribers", 0);
	own.qos = (unsigned int)bench_parameter_bytes(own.plan, "qos", 0);
	if (!own.size || own.size > KEYCACHE_MOST || !own.subscribers || own.subscribers > MOST_SUBSCRIBERS ||
	    own.qos > 2)
		bench_fail("the size, the subscribers or the QoS are out of range");
	own.payload = 4 + strlen(PUBLISHER) + KEYCACHE_OVERHEAD + own.size;
	own.texts = malloc(BURST_MESSAGES * own.size);
	own.payloads = malloc(BURST_MESSAGES * own.payload);
	own.got = calloc((size_t)own.subscribers * BURST_MESSAGES, own.payload);
	own.opened = malloc(own.payload);
	if (!own.texts || !own.payloads || !own.got || !own.opened)
		bench_fail("no memory for the messages");
}

void mqtt_case(const struct bench_plan *plan)
{
	struct bench_overhead overhead;
	struct measured_ta ta;

	own.plan = plan;
	parse();
	prepare();
	ta = places_take(false);
	bench_record_overhead(STORAGE_PLACE, BENCH_CLOCK_NAME, ta.storage.overhead);
	bench_record_overhead(TA_PLACE, BENCH_CLOCK_NAME, ta.commands.overhead);
	bench_record_overhead(INVOKE_PLACE, BENCH_CLOCK_NAME, own.of_invoke);
	bench_record_overhead(RELAY_PLACE, BENCH_CLOCK_NAME, own.of_relay);
	overhead = bench_calibrate_place(CLIENT_PLACE);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		seal(1, round);
		(void)relay(1);
		server_settle();
		check(1);
	}
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		one_message(index, overhead.count);
		one_burst(index, overhead.count);
	}
	bench_record_check("each-opens-its-own", MESSAGE, 1);
	bench_record_check("keys-found-where-they-must-be", MESSAGE, 1);
	for (uint32_t i = 0; i < own.subscribers; i++)
		peer_close(own.subscriber[i]);
	peer_close(own.publisher);
	broker_stop();
	if (own.relay != OFF) {
		keycache_close(own.admin);
		server_stop();
	}
	free(own.opened);
	free(own.got);
	free(own.payloads);
	free(own.texts);
}
