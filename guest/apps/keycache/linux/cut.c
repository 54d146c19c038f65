/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The power cut: keys are set and removed over TLS while the emulator may end at any instruction, and what a fresh machine
 * makes of the rest.
 *
 * The host stops the machine at worldwise_cut_ready, saves it there, and begins each cut from that state: nothing of the
 * host may be open by then. What is stored by then are the files `base` and `base-log`. Three files grow from there on,
 * each by semihosting calls that are one instruction of the guest: what tee-supplicant stores (journal), what the server
 * writes to its log (shadow), and what this client asks for and gets confirmed (asked). From the last the host knows what
 * must be there.
 *
 * With stream=versions most keys are set with KEEP, and another process relays all the time what the key before sealed.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../bench/region.h"
#include "../../../bench/semihost.h"
#include "../../faults/linux/store.h"
#include "../server.h"
#include "campaign.h"
#include "supplicant.h"

#define SHADOW_FILE "shadow"
#define ASKED_FILE "asked"

/* Clients that have a key before the region begins, and how many there are in all. */
#define PREPARED 8
#define CLIENTS 13
#define NEWCOMER CLIENTS

/* The words are those of the notes. */
enum kind { SETS, KEEPS, FORGETS, REMOVES };
static const char *const words[] = {
	[SETS] = "set",
	[KEEPS] = "keep",
	[FORGETS] = "forget",
	[REMOVES] = "del",
};

struct change {
	uint8_t client;
	uint8_t kind;
};

#define CHANGES 30
#define KEYS ((uint32_t)(PREPARED + CHANGES))

/* Known clients and new ones, removed ones and those that come again; some more than once. */
static const struct change keys_stream[CHANGES] = {
	{ 0, SETS },     { 8, SETS },     { 1, SETS },  { 2, REMOVES }, { 9, SETS },    { 0, SETS },
	{ 2, SETS },     { 8, REMOVES },  { 3, SETS },  { 10, SETS },   { 4, REMOVES }, { 8, SETS },
	{ 5, REMOVES },  { 0, REMOVES },  { 6, SETS },  { 7, REMOVES }, { 11, SETS },   { 12, SETS },
	{ 11, SETS },    { 12, REMOVES }, { 4, SETS },  { 0, SETS },    { 1, REMOVES }, { 6, SETS },
	{ 10, REMOVES }, { 7, SETS },     { 10, SETS }, { 5, SETS },    { 9, SETS },    { 3, SETS },
};

/*
 * The same of clients with a previous key, one that is forgotten, one that stays at a SET without KEEP, one that goes with its
 * client, and a new client's KEEP, which keeps nothing. RELAYED's messages go to RECEIVER all the time: the one's keys are only
 * replaced, each kept, the other's key stays.
 */
#define RELAYED 0
#define RECEIVER 1
static const struct change versions_stream[CHANGES] = {
	{ 0, KEEPS }, { 8, SETS },    { 2, KEEPS },   { 2, KEEPS },   { 0, KEEPS },   { 2, FORGETS },
	{ 3, KEEPS }, { 3, REMOVES }, { 8, KEEPS },   { 9, KEEPS },   { 0, KEEPS },   { 4, KEEPS },
	{ 4, SETS },  { 8, KEEPS },   { 8, FORGETS }, { 5, KEEPS },   { 5, FORGETS }, { 5, KEEPS },
	{ 3, KEEPS }, { 9, KEEPS },   { 0, KEEPS },   { 6, REMOVES }, { 10, SETS },   { 10, KEEPS },
	{ 7, KEEPS }, { 4, KEEPS },   { 0, KEEPS },   { 9, REMOVES }, { 9, SETS },    { 2, KEEPS },
};

/* For longer than the campaign lasts. */
#define KEEP_SECONDS 1000000

static bool has_versions(const struct bench_plan *plan)
{
	const char *stream = bench_parameter(plan, "stream");

	return stream && !strcmp(stream, "versions");
}

/* --- a message by the key of a number --- */

static const char topic[] = "news";
static const char plain[] = "the power may fail now";
#define PAYLOAD (KEYCACHE_PAYLOAD_HEAD + KEYCACHE_OVERHEAD + sizeof(plain))

struct sealed {
	uint8_t payload[PAYLOAD];
	size_t size;
	uint8_t aad[KEYCACHE_PAYLOAD_HEAD + sizeof(topic)];
	size_t aad_size;
	struct keycache_payload parts;
};

static void seal(struct sealed *sealed, uint32_t client, uint32_t number)
{
	uint8_t key[KEY_MOST];
	size_t key_size = client_key(key, client, number);
	char name[CLIENT_NAME];

	client_name(name, client);
	sealed->size = sizeof(sealed->payload);
	if (keycache_payload_seal_topic(name, topic, key, key_size, plain, sizeof(plain), sealed->payload,
					&sealed->size) ||
	    !keycache_payload_read(&sealed->parts, sealed->payload, sealed->size))
		bench_fail("a message cannot be sealed");
	sealed->aad_size = keycache_payload_aad(&sealed->parts, topic, sealed->aad);
}

/* --- relays --- */

struct relays {
	_Atomic uint32_t number; /* of RELAYED's key: before its next change, that is the one to be kept */
	_Atomic bool over;
	_Atomic uint32_t good;
	_Atomic bool bad;
};

static struct relays *relays;
static pid_t relaying;
static int start; /* one byte there, and it begins */

/* One message, for RECEIVER, who can open it. False if the server refuses it. */
static bool relay(struct keycache *broker, uint32_t number)
{
	char name[CLIENT_NAME];
	char to[CLIENT_NAME];
	uint8_t key[KEY_MOST];
	size_t key_size = client_key(key, RECEIVER, RECEIVER + 1);
	uint8_t opened[PAYLOAD];
	size_t size = sizeof(opened);
	struct sealed sealed;
	uint8_t *message;
	struct keycache_copy copy = { .to = to };

	seal(&sealed, RELAYED, number);
	client_name(name, RELAYED);
	client_name(to, RECEIVER);
	message = sealed.payload + sealed.parts.head_size;
	copy.message = message;
	if (keycache_relay(broker, name, sealed.aad, sealed.aad_size, message, sealed.parts.message_size, &copy, 1) ||
	    copy.error)
		return false;
	return !keycache_payload_open_topic(topic, key, key_size, sealed.payload, sealed.size, opened, &size) &&
	       size == sizeof(plain) && !memcmp(opened, plain, size);
}

/*
 * In a process of its own: one relay behind the other, so that while a key is set one always waits for its turn. A message of a
 * number is refused only once that key was replaced twice, and before that there is another number.
 */
static _Noreturn void relay_on(int ready, int begin)
{
	struct keycache *broker = server_connect(SERVER_BROKER);
	char none;

	(void)close(ready);
	(void)!read(begin, &none, 1);
	while (!relays->over && !relays->bad) {
		uint32_t number = relays->number;

		if (relay(broker, number))
			relays->good++;
		else
			relays->bad = number == relays->number;
	}
	keycache_close(broker);
	_exit(0);
}

static void prepare_relays(void)
{
	int ready[2];
	int begin[2];
	char none;

	relays = mmap(NULL, sizeof(*relays), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (relays == MAP_FAILED)
		bench_fail("no memory for relays");
	relays->number = RELAYED + 1;
	if (pipe(ready) || pipe(begin))
		bench_fail("no pipes for relays");
	relaying = fork();
	if (relaying < 0)
		bench_fail("no process for relays");
	if (!relaying) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(ready[0]);
		(void)close(begin[1]);
		relay_on(ready[1], begin[0]);
	}
	(void)close(ready[1]);
	(void)close(begin[0]);
	start = begin[1];
	/* It is connected when there is no more to read. */
	(void)!read(ready[0], &none, 1);
	(void)close(ready[0]);
}

static void end_relays(void)
{
	int status = 0;

	relays->over = true;
	if (waitpid(relaying, &status, 0) != relaying || status || relays->bad)
		bench_fail("a relay was refused after %u that were not: status %#x", (unsigned int)relays->good,
			   (unsigned int)status);
	/* Who of the two is served next is the server's choice: in some builds the changes end one relay earlier. */
	if (relays->good < CHANGES * 2 / 3)
		bench_fail("%u relays are fewer than two for three changes", (unsigned int)relays->good);
}

/* --- what is stored --- */

static void note(const char *word, unsigned int client, unsigned int number)
{
	static long handle = -1;
	char line[40];
	int length = snprintf(line, sizeof(line), "%s %u %u\n", word, client, number);

	if (handle < 0)
		handle = semihost_open(ASKED_FILE, "w");
	if (handle < 0 || semihost_write(handle, line, (size_t)length))
		bench_fail("the host does not take what was asked for");
}

/* A change; one that sets a key has its number. */
static void ask(struct keycache *admin, struct change what, uint32_t number)
{
	const struct keycache_terms terms = { .keep = what.kind == KEEPS ? KEEP_SECONDS : 0 };
	enum keycache_error error;
	char name[CLIENT_NAME];
	uint8_t key[KEY_MOST];
	size_t size = client_key(key, what.client, number);

	client_name(name, what.client);
	if (what.kind == REMOVES)
		error = keycache_del(admin, name);
	else if (what.kind == FORGETS)
		error = keycache_forget(admin, name);
	else
		error = keycache_set_terms(admin, name, key, size, &terms);
	server_must(error, admin, words[what.kind], number);
}

/* Loop turns, as in the first process: the emulator's main loop has gone to sleep meanwhile. */
#define QUIET_TURNS 10000000
/* Two readings of the counter with nothing between take far less than it skips when the machine is stopped. */
#define LEAST_SKIP 100

__attribute__((noinline)) static void cut_ready(void)
{
	uint64_t ready;
	uint64_t resumed;

	for (volatile int turn = 0; turn < QUIET_TURNS; turn++)
		;
	ready = bench_counter();
	__asm__ volatile(".globl worldwise_cut_ready\nworldwise_cut_ready:\n\tnop" : : : "memory");
	resumed = bench_counter();
	if (resumed - ready < LEAST_SKIP)
		bench_fail("the machine was not stopped as it must be: try again with less load on the host");
}

/* The journal has the names that OP-TEE gives, which begin with a slash. */
static void name_as_journal(struct store *store)
{
	for (size_t i = 0; i < store->count; i++) {
		char *name = store->files[i].name;

		memmove(name + 1, name, JOURNAL_NAME - 2);
		name[0] = '/';
	}
}

static uint8_t log_bytes[256 * 1024];

/* What the server has in its log by now, as a file of the host. */
static void save_log(const char *host_file)
{
	FILE *f = fopen(SHADOW_LOG, "re");
	size_t size = f ? fread(log_bytes, 1, sizeof(log_bytes), f) : 0;
	long handle = semihost_open(host_file, "w");

	if (!size || size == sizeof(log_bytes) || fclose(f))
		bench_fail("%s cannot be read", SHADOW_LOG);
	if (handle < 0 || semihost_write(handle, log_bytes, size))
		bench_fail("the host does not take the log");
}

void cut_write(const struct bench_plan *plan)
{
	static struct store store;
	const char *options[8] = { NULL };
	const char *durability = bench_parameter(plan, "durability");
	const struct change *changes = has_versions(plan) ? versions_stream : keys_stream;
	uint32_t relayed = RELAYED + 1;
	struct keycache *admin;
	size_t count = 0;

	for (; campaign_options[count]; count++)
		options[count] = campaign_options[count];
	if (durability) {
		options[count++] = "--durability";
		options[count] = durability;
	}
	server_prepare(NULL, NULL);
	server_start(plan, options, "LD_PRELOAD=/lib/shadow.so");
	admin = server_connect(SERVER_ADMIN);
	for (uint8_t i = 0; i < PREPARED; i++)
		ask(admin, (struct change){ .client = i }, i + 1u);
	if (has_versions(plan))
		prepare_relays();
	supplicant_replace(WITH_JOURNAL, !strcmp(bench_parameter(plan, "storage"), "rpmb"));
	store_take(&store);
	name_as_journal(&store);
	store_save(&store, "base");
	save_log("base-log");

	cut_ready();
	write_file(JOURNAL_SWITCH, "", 0);
	for (uint8_t i = 0; i < PREPARED; i++) {
		note(words[SETS], i, i + 1u);
		note("done", i, i + 1u);
	}
	/* The emulator may be stopped now, and gives no other sign of life. */
	campaign_outcome("prepared", "ready", "");
	(void)bench_region_begin();
	if (relays)
		(void)!write(start, "", 1);
	for (uint32_t i = 0; i < CHANGES; i++) {
		uint32_t number = PREPARED + i + 1;

		if (relays && changes[i].client == RELAYED) {
			relays->number = relayed;
			relayed = number;
		}
		note(words[changes[i].kind], changes[i].client, number);
		ask(admin, changes[i], number);
		note("done", changes[i].client, number);
	}
	(void)bench_region_end();
	if (relays)
		end_relays();
	keycache_close(admin);
}

/* What the host has of the server's log becomes the server's. */
static void put_shadow(void)
{
	long handle = semihost_open(SHADOW_FILE, "r");
	long size = handle < 0 ? -1 : semihost_read(handle, log_bytes, sizeof(log_bytes));

	if (size < 0 || size == (long)sizeof(log_bytes))
		bench_fail("the host's log cannot be read");
	if (mkdir(SHADOW_FOLDER, 0700))
		bench_fail("%s cannot be made", SHADOW_FOLDER);
	write_file(SHADOW_LOG, log_bytes, (size_t)size);
}

/* Whether a message by the key of a number opens: the current key may have sealed it, or the previous one. */
static bool opens(struct keycache *broker, uint32_t client, uint32_t number)
{
	char name[CLIENT_NAME];
	uint8_t opened[sizeof(plain)];
	size_t size = sizeof(opened);
	struct sealed sealed;

	seal(&sealed, client, number);
	client_name(name, client);
	return !keycache_open_aad(broker, name, sealed.aad, sealed.aad_size, sealed.parts.message,
				  sealed.parts.message_size, opened, &size) &&
	       size == sizeof(plain) && !memcmp(opened, plain, size);
}

/* Which client has a number in versions_stream. */
static uint32_t client_of(uint32_t number)
{
	return number <= PREPARED ? number - 1 : versions_stream[number - PREPARED - 1].client;
}

/*
 * The number of each client's key, as text; with what went wrong, if anything did. With versions, then `+` and the number of
 * each other key whose messages open.
 */
static void read_keys(struct keycache *broker, bool versions, char *text, size_t room)
{
	size_t used = 0;

	for (uint32_t client = 0; client < CLIENTS; client++) {
		uint32_t number = key_of(broker, client, KEYS);
		const char *space = used ? " " : "";

		if (number == KEY_ERROR)
			used += (size_t)snprintf(text + used, room - used, "%s%u=<%.24s>", space, (unsigned int)client,
						 keycache_text(broker));
		else if (number == KEY_OTHER)
			used += (size_t)snprintf(text + used, room - used, "%s%u=?", space, (unsigned int)client);
		else
			used += (size_t)snprintf(text + used, room - used, "%s%u=%u", space, (unsigned int)client,
						 (unsigned int)number);
		for (uint32_t other = 1; versions && other <= KEYS && used < room; other++)
			if (other != number && client_of(other) == client && opens(broker, client, other))
				used += (size_t)snprintf(text + used, room - used, "+%u", (unsigned int)other);
		if (used >= room)
			bench_fail("the keys' text is too long");
	}
}

/* A server that starts on what is there: which keys it has, what it refused, and whether it goes on. */
static void read_all(const struct bench_plan *plan, const char *what)
{
	char keys[1000];
	char detail[1200];
	struct keycache *admin;
	struct keycache *broker;
	enum keycache_error error;
	uint8_t key[KEY_MOST];
	size_t size = client_key(key, NEWCOMER, KEYS + 1);
	char name[CLIENT_NAME];

	server_start(plan, campaign_options, NULL);
	admin = server_connect(SERVER_ADMIN);
	broker = server_connect(SERVER_BROKER);
	read_keys(broker, has_versions(plan), keys, sizeof(keys));
	(void)snprintf(detail, sizeof(detail), "%s; stale %u forged %u damaged %u lost %u slow %u", keys,
		       (unsigned int)server_count(admin, "stale_records"),
		       (unsigned int)server_count(admin, "forged_records"),
		       (unsigned int)server_count(admin, "shadow_damaged"),
		       (unsigned int)server_count(admin, "lost_buckets"),
		       (unsigned int)server_count(admin, "slow_reads"));
	client_name(name, NEWCOMER);
	error = keycache_set(admin, name, key, size);
	if (error)
		campaign_outcome(what, keycache_text(admin), detail);
	else
		campaign_outcome(what,
				 key_of(broker, NEWCOMER, KEYS + 1) == KEYS + 1 ? "read" : "a new key is not there",
				 detail);
	keycache_close(admin);
	keycache_close(broker);
	server_stop();
}

void cut_read(const struct bench_plan *plan)
{
	static struct store store;

	store_load(&store, "journal");
	store_put(&store);
	server_prepare(NULL, NULL);
	put_shadow();
	read_all(plan, "kept");
	/* The same with no record at all: what secure storage has by itself. */
	if (remove(SHADOW_LOG))
		bench_fail("%s cannot be removed", SHADOW_LOG);
	read_all(plan, "lost");
}
