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
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

struct change {
	uint8_t client;
	bool removes;
};

/* Known clients and new ones, removed ones and those that come again; some more than once. */
static const struct change changes[] = {
	{ 0, false },  { 8, false }, { 1, false },  { 2, true },   { 9, false },  { 0, false },
	{ 2, false },  { 8, true },  { 3, false },  { 10, false }, { 4, true },   { 8, false },
	{ 5, true },   { 0, true },  { 6, false },  { 7, true },   { 11, false }, { 12, false },
	{ 11, false }, { 12, true }, { 4, false },  { 0, false },  { 1, true },   { 6, false },
	{ 10, true },  { 7, false }, { 10, false }, { 5, false },  { 9, false },  { 3, false },
};
#define CHANGES (sizeof(changes) / sizeof(changes[0]))
#define KEYS ((uint32_t)(PREPARED + CHANGES))

static void note(const char *format, unsigned int client, unsigned int number) __attribute__((format(printf, 1, 0)));
static void note(const char *format, unsigned int client, unsigned int number)
{
	static long handle = -1;
	char line[40];
	int length = snprintf(line, sizeof(line), format, client, number);

	if (handle < 0)
		handle = semihost_open(ASKED_FILE, "w");
	if (handle < 0 || semihost_write(handle, line, (size_t)length))
		bench_fail("the host does not take what was asked for");
}

/* One key, of that number, or its removal. */
static void ask(struct keycache *admin, struct change what, uint32_t number)
{
	char name[CLIENT_NAME];
	uint8_t key[KEY_MOST];
	size_t size = client_key(key, what.client, number);

	client_name(name, what.client);
	server_must(what.removes ? keycache_del(admin, name) : keycache_set(admin, name, key, size), admin,
		    what.removes ? "DEL" : "SET", number);
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
	supplicant_replace(WITH_JOURNAL, !strcmp(bench_parameter(plan, "storage"), "rpmb"));
	store_take(&store);
	name_as_journal(&store);
	store_save(&store, "base");
	save_log("base-log");

	cut_ready();
	write_file(JOURNAL_SWITCH, "", 0);
	for (uint8_t i = 0; i < PREPARED; i++) {
		note("set %u %u\n", i, i + 1u);
		note("done %u %u\n", i, i + 1u);
	}
	/* An emulator that is to be stopped now has no other sign of life. */
	campaign_outcome("prepared", "ready", "");
	(void)bench_region_begin();
	for (uint32_t i = 0; i < CHANGES; i++) {
		uint32_t number = PREPARED + i + 1;

		note(changes[i].removes ? "del %u %u\n" : "set %u %u\n", changes[i].client, number);
		ask(admin, changes[i], number);
		note("done %u %u\n", changes[i].client, number);
	}
	(void)bench_region_end();
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

/* The number of each client's key, as text; with what went wrong, if anything did. */
static void read_keys(struct keycache *broker, char *text, size_t room)
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
	read_keys(broker, keys, sizeof(keys));
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
