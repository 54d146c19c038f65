/* SPDX-License-Identifier: BSD-2-Clause */
#include "relay.h"

#include <mosquitto.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

#define LEAST_WAIT_MS 500u
#define MOST_WAIT_MS 10000u

/* Copies that wait for their receivers. */
#define SLOTS 1024u
#define MOST_BYTES (8u * 1024u * 1024u)
#define KEEP_MS 10000u
#define NONCE_BYTES 12u
#define TAG_BYTES 16u

/*
 * A message is known by its sender, size, nonce and tag. Only who has the sender's key can make two that agree in these, and
 * the sender decides itself what its receivers get. The topic that it is sealed for is in the hash: by another one it does not open.
 */
struct slot {
	uint64_t hash; /* 0: empty */
	uint64_t until;
	uint8_t *copy; /* NULL: the receiver has no key */
	size_t size;
	uint8_t ends[NONCE_BYTES + TAG_BYTES];
	char sender[KEYCACHE_NAME + 1];
	char name[KEYCACHE_NAME + 1];
};

static struct keycache_address server;
static struct keycache *connection;
static bool gone;
static uint64_t retry_at;
static unsigned wait_ms = LEAST_WAIT_MS;

static struct slot slots[SLOTS];
static uint64_t hashes[SLOTS]; /* of the slots: what is looked through */
static unsigned next_slot;
static size_t kept_bytes;

static void empty(unsigned at)
{
	if (slots[at].copy)
		kept_bytes -= slots[at].size;
	free(slots[at].copy);
	slots[at] = (struct slot){ 0 };
	hashes[at] = 0;
}

static void describe(struct slot *slot, const struct relayed *one, const char *name)
{
	const struct keycache_payload *payload = &one->payload;
	const uint8_t *message = payload->message;
	uint64_t sum = 14695981039346656037u;

	*slot = (struct slot){ .size = payload->message_size };
	memcpy(slot->ends, message, NONCE_BYTES);
	memcpy(slot->ends + NONCE_BYTES, message + payload->message_size - TAG_BYTES, TAG_BYTES);
	memcpy(slot->sender, payload->sender, payload->sender_size);
	memcpy(slot->name, name, strnlen(name, KEYCACHE_NAME));
	for (size_t i = 0; i < sizeof(slot->ends); i++)
		sum = (sum ^ slot->ends[i]) * 1099511628211u;
	for (const char *at = slot->name; *at; at++)
		sum = (sum ^ (uint8_t)*at) * 1099511628211u;
	for (const char *at = payload->has_topic ? one->topic : ""; *at; at++)
		sum = (sum ^ (uint8_t)*at) * 1099511628211u;
	slot->hash = sum ? sum : 1;
}

/* The slot of a copy, or SLOTS. The newest come first: the broker mostly wants one that was made just now. */
static unsigned find(const struct slot *wanted)
{
	uint64_t now = now_ms();

	for (unsigned i = next_slot + SLOTS; i-- > next_slot;) {
		unsigned at = i % SLOTS;

		if (hashes[at] == wanted->hash && slots[at].until > now && slots[at].size == wanted->size &&
		    !memcmp(slots[at].ends, wanted->ends, sizeof(wanted->ends)) &&
		    !strcmp(slots[at].sender, wanted->sender) && !strcmp(slots[at].name, wanted->name))
			return at;
	}
	return SLOTS;
}

/* Takes the copy over; the oldest ones make room. */
static void keep(const struct slot *described, uint8_t *copy)
{
	unsigned at = next_slot;

	next_slot = (next_slot + 1) % SLOTS;
	empty(at);
	for (unsigned i = next_slot; copy && kept_bytes + described->size > MOST_BYTES && i != at; i = (i + 1) % SLOTS)
		empty(i);
	slots[at] = *described;
	slots[at].copy = copy;
	slots[at].until = now_ms() + KEEP_MS;
	hashes[at] = described->hash;
	if (copy)
		kept_bytes += described->size;
}

size_t relay_room(size_t message_size)
{
	size_t most = MOST_BYTES / message_size;

	return most < SLOTS / 2 ? most : SLOTS / 2;
}

void relay_tick(void)
{
	uint64_t now = now_ms();

	for (unsigned i = 0; i < SLOTS; i++)
		if (hashes[i] && slots[i].until <= now)
			empty(i);
}

static void disconnect(void)
{
	keycache_close(connection);
	connection = NULL;
}

/* The server does not answer: it is left alone for a while, longer each time. */
static void lose(const char *why)
{
	if (!gone)
		say(SAY_SERVER, MOSQ_LOG_WARNING, "the key cache's server cannot be asked: %s", why);
	gone = true;
	disconnect();
	retry_at = now_ms() + wait_ms;
	wait_ms = wait_ms * 2 < MOST_WAIT_MS ? wait_ms * 2 : MOST_WAIT_MS;
}

bool relay_reachable(void)
{
	enum keycache_error error;

	if (connection)
		return true;
	if (now_ms() < retry_at)
		return false;
	error = keycache_connect(&connection, &server);
	if (error) {
		lose(keycache_text(connection));
		return false;
	}
	if (gone)
		mosquitto_log_printf(MOSQ_LOG_NOTICE, "keycache: the key cache's server answers again");
	gone = false;
	wait_ms = LEAST_WAIT_MS;
	return true;
}

void relay_start(const struct keycache_address *address)
{
	server = *address;
	(void)relay_reachable();
}

void relay_stop(void)
{
	disconnect();
	for (unsigned i = 0; i < SLOTS; i++)
		empty(i);
}

static enum relay_result ask(const char *sender, const struct relayed *message, struct keycache_copy *copies,
			     size_t count)
{
	const struct keycache_payload *payload = &message->payload;
	uint8_t aad[KEYCACHE_MOST_AAD];
	size_t aad_size = keycache_payload_aad(payload, message->topic, aad);

	if (!aad_size) {
		say(SAY_FORGED, MOSQ_LOG_NOTICE, "a message of %s is not relayed: its topic has more than %d bytes",
		    sender, KEYCACHE_MOST_TOPIC);
		return RELAY_REFUSED;
	}
	for (;;) {
		bool old = connection != NULL;
		uint64_t began = now_ms();
		enum keycache_error error;

		if (!relay_reachable())
			return RELAY_LATER;
		error = keycache_relay(connection, sender, aad, aad_size, payload->message, payload->message_size,
				       copies, count);
		switch (error) {
		case KEYCACHE_OK:
			return RELAY_DONE;
		case KEYCACHE_AGAIN:
			say(SAY_SERVER, MOSQ_LOG_WARNING, "the key cache cannot relay now: %s",
			    keycache_text(connection));
			return RELAY_LATER;
		case KEYCACHE_NETWORK:
		case KEYCACHE_TLS:
		case KEYCACHE_PROTOCOL:
			/* One that was idle for long may have been closed; then a new one is as good. */
			if (old && now_ms() - began < server.timeout_ms / 2) {
				disconnect();
				continue;
			}
			lose(keycache_text(connection));
			return RELAY_LATER;
		default:
			say(SAY_FORGED, MOSQ_LOG_NOTICE, "a message of %s is not relayed: %s", sender,
			    keycache_text(connection));
			return RELAY_REFUSED;
		}
	}
}

static enum relay_result ask_for(const struct relayed *message, const char *const *names, size_t count)
{
	const struct keycache_payload *payload = &message->payload;
	struct keycache_copy copies[KEYCACHE_COPIES] = { 0 };
	char sender[KEYCACHE_NAME + 1] = "";
	enum relay_result result = RELAY_DONE;

	memcpy(sender, payload->sender, payload->sender_size);
	for (size_t i = 0; i < count; i++) {
		copies[i].to = names[i];
		copies[i].message = malloc(payload->message_size);
		if (!copies[i].message)
			result = RELAY_LATER;
	}
	if (!result)
		result = ask(sender, message, copies, count);
	for (size_t i = 0; i < count; i++) {
		bool again = result || copies[i].error == KEYCACHE_AGAIN;
		struct slot slot;

		if (again || copies[i].error) {
			free(copies[i].message);
			copies[i].message = NULL;
		}
		if (again)
			continue;
		if (copies[i].error)
			say(SAY_RECEIVER, MOSQ_LOG_NOTICE, "%s gets no messages of %s: no key, or no right to relay",
			    names[i], sender);
		describe(&slot, message, names[i]);
		keep(&slot, copies[i].message);
	}
	return result;
}

enum relay_result relay_ahead(const struct relayed *message, const char *const *names, size_t count)
{
	enum relay_result result;
	size_t at = 0;

	do {
		size_t size = count - at < KEYCACHE_COPIES ? count - at : KEYCACHE_COPIES;

		result = ask_for(message, names + at, size);
		at += size;
	} while (!result && at < count);
	/* The last ones get what they lack when it is their turn. */
	return at > KEYCACHE_COPIES ? RELAY_DONE : result;
}

static enum relay_result find_or_ask(const struct relayed *message, const char *name, unsigned *at)
{
	struct slot wanted;
	enum relay_result result = RELAY_DONE;

	describe(&wanted, message, name);
	*at = find(&wanted);
	if (*at == SLOTS) {
		result = ask_for(message, &name, 1);
		*at = find(&wanted);
	}
	if (result)
		return result;
	/* An error that is the receiver's alone, and will pass. */
	if (*at == SLOTS)
		return RELAY_LATER;
	return slots[*at].copy ? RELAY_DONE : RELAY_REFUSED;
}

enum relay_result relay_see(const struct relayed *message, const char *name)
{
	unsigned at;

	return find_or_ask(message, name, &at);
}

enum relay_result relay_take(const struct relayed *message, const char *name, uint8_t **copy)
{
	unsigned at;
	enum relay_result result = find_or_ask(message, name, &at);

	*copy = NULL;
	if (result)
		return result;
	*copy = slots[at].copy;
	kept_bytes -= slots[at].size;
	slots[at].copy = NULL;
	empty(at);
	return RELAY_DONE;
}
