/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random histories against a model: for each client the keys that it may have now, and those that storage may have. Each is
 * one key (or none), unless a command failed that may have taken effect.
 */
#include <stdlib.h>

#include "test.h"

#define CLIENTS 8u
#define STEPS 150u
/* 60 of them take about a second. */
#define HISTORIES 60u
#define MOST_KEYS (STEPS + 1)
#define KEPT_KEYS 3

/* Key numbers; 0 is no key. */
struct keys {
	bool has[MOST_KEYS];
};

struct client {
	char name[16];
	struct keys now;
	struct keys stored;
	struct keys previous;          /* what storage has is what there is */
	struct keycache_record record; /* of some SET, and its key's number */
	unsigned int recorded;
};

static struct client clients[CLIENTS];
static unsigned int last_key;
static unsigned int violations;

static void violated(const char *what, const char *who, uint32_t detail)
{
	if (!violations++)
		printf("model: %s: %s 0x%x\n", who, what, detail);
}

static void only(struct keys *keys, unsigned int number)
{
	memset(keys, 0, sizeof(*keys));
	keys->has[number] = true;
}

static void may_be_stored(struct client *client)
{
	unsigned int at;

	for (at = 0; at < MOST_KEYS; at++)
		client->stored.has[at] |= client->now.has[at];
}

/* Two buckets, so that clients take each other's places. */
static void name_clients(void)
{
	unsigned int found = 0;
	unsigned int number;

	for (number = 0; found < CLIENTS; number++) {
		if (bucket_of(name(number)) > 1)
			continue;
		(void)snprintf(clients[found].name, sizeof(clients[found].name), "%s", name(number));
		found++;
	}
}

static void begin(void)
{
	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, KEPT_KEYS, KEYCACHE_ALLOW_GET);
}

static void step_set(struct client *client, bool relaxed, bool failing)
{
	unsigned int number = ++last_key;
	struct keycache_record sealed;
	uint8_t key[32];
	TEE_Result res;

	make_key(number, key);
	res = set(client->name, key, sizeof(key), relaxed ? KEYCACHE_RELAXED : 0, &sealed);
	if (res) {
		if (!failing)
			violated("SET fails", client->name, res);
		client->now.has[number] = true;
		client->stored.has[number] = true;
		return;
	}
	only(&client->now, number);
	client->record = sealed;
	client->recorded = number;
	if (relaxed)
		client->stored.has[number] = true;
	else
		only(&client->stored, number);
}

static void step_keep(struct client *client, bool failing)
{
	unsigned int number = ++last_key;
	struct keycache_record sealed[2];
	unsigned int at;
	size_t count;
	TEE_Result res = set_as(client->name, number, KEYCACHE_KEEP, 0, sealed, &count);

	if (res && !failing)
		violated("SET that keeps fails", client->name, res);
	if (!res && count == 1 && !client->now.has[0])
		violated("a key is not kept", client->name, 0);
	/* What is replaced: if it failed, perhaps; what waited may have been written for it. */
	if (!res && count == 2)
		memset(&client->previous, 0, sizeof(client->previous));
	for (at = 1; (res || count == 2) && at < MOST_KEYS; at++)
		client->previous.has[at] |= client->now.has[at];
	if (res) {
		may_be_stored(client);
		client->now.has[number] = true;
		client->stored.has[number] = true;
		return;
	}
	only(&client->now, number);
	only(&client->stored, number);
	client->record = sealed[0];
	client->recorded = number;
}

static void step_forget(struct client *client, bool failing)
{
	TEE_Result res = forget(client->name);

	if (res == KEYCACHE_NO_KEY && !client->previous.has[0])
		violated("FORGET finds no key", client->name, res);
	if (!res || res == KEYCACHE_NO_KEY)
		only(&client->previous, 0);
	else if (!failing)
		violated("FORGET fails", client->name, res);
	else
		client->previous.has[0] = true;
}

static void step_read_previous(struct client *client, bool failing)
{
	unsigned int number;
	TEE_Result res = previous_number(client->name, last_key, &number);

	if (res && res != KEYCACHE_NO_KEY) {
		if (!failing)
			violated("a previous key cannot be read", client->name, res);
		return;
	}
	if (!res && !number)
		violated("a previous key that nobody set", client->name, 0);
	if (!client->previous.has[number])
		violated("another previous key than was kept", client->name, number);
	only(&client->previous, number);
	/* No previous key without a current one. */
	if (!failing && number && exists(client->name))
		violated("a previous key alone", client->name, number);
}

static void step_delete(struct client *client, bool failing)
{
	TEE_Result res = delete(client->name);

	if (res == KEYCACHE_NO_KEY && !client->now.has[0])
		violated("DEL finds no key", client->name, res);
	if (!res || res == KEYCACHE_NO_KEY) {
		only(&client->now, 0);
		only(&client->stored, 0);
		only(&client->previous, 0);
		return;
	}
	if (!failing)
		violated("DEL fails", client->name, res);
	client->now.has[0] = true;
	client->stored.has[0] = true;
	client->previous.has[0] = true;
}

static unsigned int number_of(const uint8_t *key)
{
	unsigned int number;
	uint8_t one[32];

	for (number = last_key; number; number--) {
		make_key(number, one);
		if (!memcmp(key, one, sizeof(one)))
			break;
	}
	return number;
}

static void step_read(struct client *client, bool failing)
{
	struct keycache_record sealed;
	struct keycache_offer offer;
	uint8_t key[32];
	size_t bytes;
	TEE_Result res = get(client->name, NULL, key, &bytes);

	if (res == KEYCACHE_MISS) {
		res = record(client->name, &sealed);
		if (!res) {
			offer = offer_of(&sealed);
			res = get(client->name, &offer, key, &bytes);
		}
	}
	if (res && res != KEYCACHE_NO_KEY) {
		if (!failing)
			violated("a key cannot be read", client->name, res);
		return;
	}
	if (!client->now.has[res ? 0 : number_of(key)])
		violated("another key than was set", client->name, res ? 0 : number_of(key));
	only(&client->now, res ? 0 : number_of(key));
	may_be_stored(client);
}

/* Its record is good if its key is the current one; never else. That it may be stale although it is costs only time. */
static void step_record(struct client *client, bool failing)
{
	struct keycache_offer offer = offer_of(&client->record);
	uint8_t key[32];
	size_t bytes;
	TEE_Result res;

	if (!client->recorded || evict(client->name))
		return;
	res = get(client->name, &offer, key, &bytes);
	if (!res && (number_of(key) != client->recorded || !client->now.has[client->recorded]))
		violated("a record that is not current opens", client->name, client->recorded);
	if (!res)
		only(&client->now, client->recorded);
	if (res == KEYCACHE_FORGED || (res && res != KEYCACHE_STALE && res != KEYCACHE_NO_KEY && !failing))
		violated("a record is not judged", client->name, res);
	if (res == KEYCACHE_NO_KEY && !client->now.has[0])
		violated("no key", client->name, res);
}

static void step_flush(bool failing)
{
	TEE_Result res = flush();
	unsigned int at;

	if (res && !failing)
		violated("FLUSH fails", "-", res);
	for (at = 0; !res && at < CLIENTS; at++)
		clients[at].stored = clients[at].now;
}

/* All buckets are read again. */
static void step_reread(bool failing)
{
	static uint32_t bytes;

	bytes ^= 64 * 1024;
	if (configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(KEPT_KEYS), KEYCACHE_ALLOW_GET, bytes)) {
		if (!failing)
			violated("CONFIGURE fails", "-", 0);
		/* What a server does then. */
		shim_fail(0, 0, false);
		shim_fail_read(0, 0);
		if (configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, bytes_for(KEPT_KEYS), KEYCACHE_ALLOW_GET, bytes))
			violated("CONFIGURE fails again", "-", 0);
	}
}

static void step_reload(bool orderly)
{
	unsigned int at;

	for (at = 0; at < CLIENTS; at++) {
		if (orderly)
			clients[at].stored = clients[at].now;
		else
			clients[at].now = clients[at].stored;
	}
	if (orderly)
		shim_stop();
	else
		shim_crash();
	begin();
}

static void step(void)
{
	struct client *client = &clients[pick(CLIENTS)];
	bool failing = !pick(5);
	uint32_t what = pick(120);

	if (failing && pick(4))
		shim_fail(1 + pick(2), TEE_ERROR_STORAGE_NOT_AVAILABLE, pick(2));
	else if (failing)
		shim_fail_read(1 + pick(4), TEE_ERROR_STORAGE_NOT_AVAILABLE);
	if (what < 20)
		step_set(client, false, failing);
	else if (what < 50)
		step_set(client, true, failing);
	else if (what < 65)
		step_delete(client, failing);
	else if (what < 72)
		step_flush(failing);
	else if (what < 82)
		step_read(client, failing);
	else if (what < 90)
		step_record(client, failing);
	else if (what < 96)
		step_reread(failing);
	else if (what >= 115)
		step_read_previous(client, failing);
	else if (what >= 112)
		step_forget(client, failing);
	else if (what >= 100)
		step_keep(client, failing);
	shim_fail(0, 0, false);
	shim_fail_read(0, 0);
	if (what >= 96 && what < 100)
		step_reload(what >= 98);
}

static void check_state(void)
{
	struct keycache_stats now = stats();

	if (now.rolled_back)
		violated("storage is called older than it is", "-", (uint32_t)now.rolled_back);
	if (now.lost_buckets)
		violated("a bucket is called lost", "-", now.lost_buckets);
}

static void run_history(void)
{
	unsigned int at;

	last_key = 0;
	for (at = 0; at < CLIENTS; at++) {
		only(&clients[at].now, 0);
		only(&clients[at].stored, 0);
		only(&clients[at].previous, 0);
		clients[at].recorded = 0;
	}
	begin();
	for (at = 0; at < STEPS; at++) {
		step();
		check_state();
	}
	for (at = 0; at < CLIENTS; at++) {
		step_read(&clients[at], false);
		step_read_previous(&clients[at], false);
	}
	step_reload(true);
	for (at = 0; at < CLIENTS; at++) {
		step_read(&clients[at], false);
		step_read_previous(&clients[at], false);
	}
	check_state();
	shim_stop();
	remove_storage(folder());
}

void test_model(void)
{
	const char *wanted = getenv("KEYCACHE_HISTORIES");
	unsigned long count = wanted ? strtoul(wanted, NULL, 10) : HISTORIES;
	unsigned int bad = 0;
	unsigned long number;

	name_clients();
	for (number = 0; number < count; number++) {
		violations = 0;
		run_history();
		bad += violations != 0;
	}
	printf("     %lu histories of %u steps, %u with a violation\n", count, STEPS, bad);
	EXPECT(bad, 0);
}
