/* SPDX-License-Identifier: BSD-2-Clause */
/* The server's log of sealed records, edited while no server runs, as whoever writes to its disk can. */
#include <errno.h>
#include <keycache_ta.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../server.h"
#include "campaign.h"
#include "scene.h"

#define CLIENTS 8u
#define MOST_ENTRIES 256u

/* As keycache/server/shadow.c writes it. */
#define ENTRY_PUT 0x7570636bu
struct entry {
	uint32_t kind;
	uint32_t checksum;
	struct keycache_record record;
};
struct log {
	uint8_t header[16];
	struct entry entries[MOST_ENTRIES];
	size_t count; /* not in the file */
};

/* CRC-32C over all behind it, that of an entry's kind first. */
static uint32_t checksum(const struct entry *entry)
{
	const uint8_t *bytes = (const uint8_t *)&entry->record;
	uint32_t crc = ~entry->kind;

	for (size_t i = 0; i < sizeof(entry->record); i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);
	}
	return ~crc;
}

static void log_take(struct log *log)
{
	FILE *f = fopen(SHADOW_LOG, "re");
	size_t size = f ? fread(log, 1, sizeof(*log), f) : 0;

	if (!f || size < sizeof(log->header) || (size - sizeof(log->header)) % sizeof(struct entry))
		bench_fail("%s is not as it should be: %zu bytes", SHADOW_LOG, size);
	(void)fclose(f);
	log->count = (size - sizeof(log->header)) / sizeof(struct entry);
	for (size_t i = 0; i < log->count; i++)
		if (log->entries[i].checksum != checksum(&log->entries[i]))
			bench_fail("%s: entry %zu has another checksum than is known here", SHADOW_LOG, i);
}

static void log_put(const struct log *log)
{
	write_file(SHADOW_LOG, log, sizeof(log->header) + log->count * sizeof(struct entry));
}

/* The last record that the log has of a client. */
static struct entry *of_client(struct log *log, uint32_t client)
{
	char name[CLIENT_NAME];

	client_name(name, client);
	for (size_t i = log->count; i--;) {
		struct entry *entry = &log->entries[i];

		if (entry->kind == ENTRY_PUT && entry->record.id_length == strlen(name) &&
		    !memcmp(entry->record.id, name, strlen(name)))
			return entry;
	}
	bench_fail("%s has no record of %s", SHADOW_LOG, name);
}

/* Something more to say at the log's end, with a checksum that fits. */
static void log_add(struct log *log, struct entry entry)
{
	if (log->count == MOST_ENTRIES)
		bench_fail("%s has too many entries", SHADOW_LOG);
	entry.checksum = checksum(&entry);
	log->entries[log->count++] = entry;
}

struct refused {
	unsigned int stale;
	unsigned int forged;
	unsigned int damaged;
};

static struct refused refused(struct scene *scene)
{
	return (struct refused){ (unsigned int)server_count(scene->admin, "stale_records"),
				 (unsigned int)server_count(scene->admin, "forged_records"),
				 (unsigned int)server_count(scene->admin, "shadow_damaged") };
}

/* A server with this log: every client must have what it should, and so many records must be refused as such. */
static void tried_with(struct scene *scene, const struct log *log, struct refused wanted, const char *what)
{
	static struct refused before;
	struct refused now;

	campaign_progress();
	log_put(log);
	scene_start(scene, NULL, NULL);
	scene_check(scene, CLIENTS);
	now = refused(scene);
	/* The TA counts on from server to server, the server counts anew. */
	if (now.stale - before.stale != wanted.stale || now.forged - before.forged != wanted.forged ||
	    now.damaged != wanted.damaged)
		scene_wrong(scene, "not refused", "%s: %u stale, %u forged, %u damaged", what, now.stale - before.stale,
			    now.forged - before.forged, now.damaged);
	before = now;
	scene_stop(scene);
}

static struct log good;
static struct log older;
static struct log made;

static void fill(struct scene *scene, struct log *log)
{
	scene_start(scene, NULL, NULL);
	scene_fill(scene, CLIENTS);
	scene_stop(scene);
	log_take(log);
}

/* The record of a key that was replaced: in the place of the new one, and the whole log as it was. */
static void record_older(struct scene *scene)
{
	fill(scene, &older);
	scene_start(scene, NULL, NULL);
	server_must(scene_set(scene, 0), scene->admin, "SET", 0);
	scene_stop(scene);
	log_take(&good);
	made = good;
	*of_client(&made, 0) = *of_client(&older, 0);
	tried_with(scene, &made, (struct refused){ .stale = 1 }, "the older record");
	tried_with(scene, &older, (struct refused){ .stale = 1 }, "the older log");
	tried_with(scene, &good, (struct refused){ .stale = 0 }, "the log as it should be");
	scene_say(scene, "refused, counted, made anew from secure storage");
}

/* One bit, with a checksum that fits: it reaches the TA. */
static void record_flipped(struct scene *scene)
{
	/* Format, key's length, flags, version, nonce, sealed key, tag; the id would be another client's record. */
	static const size_t places[] = { 0, 2, 3, 4, 7, 72, 83, 84, 115, 116, 131 };
	size_t count = sizeof(places) / sizeof(places[0]);

	fill(scene, &good);
	for (size_t i = 0; i < count; i++) {
		bool version = places[i] >= 4 && places[i] < 8;
		struct entry *entry;

		made = good;
		entry = of_client(&made, 0);
		((uint8_t *)&entry->record)[places[i]] ^= 0x40;
		entry->checksum = checksum(entry);
		tried_with(scene, &made, (struct refused){ .stale = version, .forged = !version }, "a flipped bit");
	}
	scene_say(scene, "a bit in each of %zu places: refused, counted, made anew", count);
}

/* Another client's: its sealed key behind our name, and its whole record but the name. */
static void record_other(struct scene *scene)
{
	const size_t name_end = offsetof(struct keycache_record, nonce);
	struct entry *ours;
	const struct entry *theirs;

	fill(scene, &good);
	made = good;
	ours = of_client(&made, 0);
	theirs = of_client(&good, 1);
	memcpy((uint8_t *)&ours->record + name_end, (const uint8_t *)&theirs->record + name_end,
	       sizeof(ours->record) - name_end);
	ours->checksum = checksum(ours);
	tried_with(scene, &made, (struct refused){ .forged = 1 }, "another's sealed key");
	made = good;
	ours = of_client(&made, 0);
	ours->record = theirs->record;
	memcpy(ours->record.id, of_client(&good, 0)->record.id, sizeof(ours->record.id));
	/* Both would need our version to be looked at. */
	ours->record.version = of_client(&good, 0)->record.version;
	ours->checksum = checksum(ours);
	tried_with(scene, &made, (struct refused){ .forged = 1 }, "another's record");
	scene_say(scene, "refused, counted, made anew");
}

/* Of before a DEL, while there is no key, and when there is one again. */
static void record_removed(struct scene *scene)
{
	fill(scene, &older);
	scene_start(scene, NULL, NULL);
	server_must(scene_delete(scene, 0), scene->admin, "DEL", 0);
	scene_stop(scene);
	log_take(&good);
	made = good;
	log_add(&made, *of_client(&older, 0));
	/* Without a key there is nothing to compare it with: it is dropped. */
	tried_with(scene, &made, (struct refused){ 0 }, "the record of a removed key");
	scene_start(scene, NULL, NULL);
	server_must(scene_set(scene, 0), scene->admin, "SET", 0);
	scene_stop(scene);
	log_take(&made);
	log_add(&made, *of_client(&older, 0));
	tried_with(scene, &made, (struct refused){ .stale = 1 }, "the record of before the removal");
	scene_say(scene, "no key while it is removed; refused when there is one again");
}

/* What no checksum fits, a log cut short, no log at all. */
static void record_damaged(struct scene *scene)
{
	fill(scene, &good);
	made = good;
	of_client(&made, 0)->record.sealed[0] ^= 1;
	tried_with(scene, &made, (struct refused){ .damaged = 1 }, "a wrong checksum");
	made = good;
	made.count = 1;
	tried_with(scene, &made, (struct refused){ 0 }, "a log cut short");
	made = good;
	memset(made.header, 0, sizeof(made.header));
	tried_with(scene, &made, (struct refused){ .damaged = 1 }, "no header");
	if (unlink(SHADOW_LOG) && errno != ENOENT)
		bench_fail("%s cannot be removed", SHADOW_LOG);
	scene_start(scene, NULL, NULL);
	scene_check(scene, CLIENTS);
	scene_stop(scene);
	scene_say(scene, "made anew from secure storage");
}

const struct attempt record_attempts[] = {
	{ "record-older", record_older },     { "record-flipped", record_flipped }, { "record-other", record_other },
	{ "record-removed", record_removed }, { "record-damaged", record_damaged }, { NULL, NULL },
};
