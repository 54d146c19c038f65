/* SPDX-License-Identifier: BSD-2-Clause */
#include "shadow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "id.h"

enum entry_kind { ENTRY_PUT = 0x7570636b, ENTRY_REMOVE = 0x6d72636b };

static const struct journal_format log_format = { .name = "records.log",
						  .new_name = "records.new",
						  .magic = "keycache 1",
						  .payload = sizeof(struct keycache_record) };

struct slot {
	struct keycache_record record;
	bool used;
};

struct shadow {
	struct slot *slots;
	uint32_t slot_count;
	uint32_t slot_room;
	uint32_t *free_slots;
	uint32_t free_count;
	uint32_t *table; /* slot + 1, or 0; open addressing, a power of two */
	uint32_t table_size;
	uint32_t records;
	int directory;
	struct journal log;
};

/* `length` as in a record, with KEYCACHE_PREVIOUS if it is the previous key's. */
static size_t id_bytes(uint8_t length)
{
	return length & ~KEYCACHE_PREVIOUS;
}

static bool same(const struct slot *slot, const uint8_t *id, uint8_t length)
{
	return slot->record.id_length == length && !memcmp(slot->record.id, id, id_bytes(length));
}

/* The place of an id in the table, or the empty one where it would go. */
static uint32_t place(const struct shadow *shadow, const uint8_t *id, uint8_t length)
{
	uint32_t mask = shadow->table_size - 1;
	uint32_t at = (id_hash(id, id_bytes(length)) ^ length) & mask;

	while (shadow->table[at] && !same(&shadow->slots[shadow->table[at] - 1], id, length))
		at = (at + 1) & mask;
	return at;
}

static bool grow(struct shadow *shadow)
{
	uint32_t room = shadow->slot_room ? shadow->slot_room * 2 : 256;
	struct slot *slots;
	uint32_t *free_slots;
	uint32_t *table;

	if (room > UINT32_MAX / 8)
		return false;
	slots = realloc(shadow->slots, room * sizeof(*slots));
	if (!slots)
		return false;
	shadow->slots = slots;
	free_slots = realloc(shadow->free_slots, room * sizeof(*free_slots));
	if (!free_slots)
		return false;
	shadow->free_slots = free_slots;
	/* At most half full. */
	table = calloc((size_t)room * 2, sizeof(*table));
	if (!table)
		return false;
	free(shadow->table);
	shadow->table = table;
	shadow->table_size = room * 2;
	shadow->slot_room = room;
	for (uint32_t i = 0; i < shadow->slot_count; i++) {
		const struct keycache_record *record = &slots[i].record;

		if (slots[i].used)
			table[place(shadow, record->id, record->id_length)] = i + 1;
	}
	return true;
}

static uint32_t put(struct shadow *shadow, const struct keycache_record *record)
{
	uint32_t at = place(shadow, record->id, record->id_length);
	uint32_t slot;

	if (shadow->table[at]) {
		slot = shadow->table[at] - 1;
	} else {
		if (!shadow->free_count && shadow->slot_count == shadow->slot_room) {
			if (!grow(shadow))
				return SHADOW_NONE;
			at = place(shadow, record->id, record->id_length);
		}
		slot = shadow->free_count ? shadow->free_slots[--shadow->free_count] : shadow->slot_count++;
		shadow->table[at] = slot + 1;
		shadow->records++;
	}
	shadow->slots[slot] = (struct slot){ .record = *record, .used = true };
	return slot;
}

static void take_out(struct shadow *shadow, uint32_t at)
{
	uint32_t mask = shadow->table_size - 1;
	uint32_t slot = shadow->table[at] - 1;

	shadow->slots[slot].used = false;
	shadow->free_slots[shadow->free_count++] = slot;
	shadow->records--;
	/* Close the gap: whoever was pushed on by this one moves back. */
	shadow->table[at] = 0;
	for (uint32_t next = (at + 1) & mask; shadow->table[next]; next = (next + 1) & mask) {
		const struct keycache_record *record = &shadow->slots[shadow->table[next] - 1].record;
		uint32_t moved = shadow->table[next];

		shadow->table[next] = 0;
		shadow->table[place(shadow, record->id, record->id_length)] = moved;
	}
}

static bool take_entry(void *owner, struct journal *log, uint32_t kind, const void *payload)
{
	struct shadow *shadow = owner;
	struct keycache_record record;
	struct id id;
	uint32_t at;

	memcpy(&record, payload, sizeof(record));
	if ((kind != ENTRY_PUT && kind != ENTRY_REMOVE) || !id_take(&id, record.id, record.id_length)) {
		log->counts.damaged++;
		return true;
	}
	if (kind == ENTRY_PUT)
		return put(shadow, &record) != SHADOW_NONE;
	at = place(shadow, record.id, record.id_length);
	if (shadow->table[at])
		take_out(shadow, at);
	return true;
}

struct shadow *shadow_open(const char *directory, char *problem, size_t size)
{
	struct shadow *shadow = calloc(1, sizeof(*shadow));
	const char *what = "out of memory";

	if (!shadow)
		goto failed;
	shadow->directory = -1;
	shadow->log = journal_none();
	if (!grow(shadow))
		goto failed;
	if (!directory)
		return shadow;
	if (mkdir(directory, 0700) && errno != EEXIST)
		goto failed_errno;
	shadow->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shadow->directory < 0)
		goto failed_errno;
	if (flock(shadow->directory, LOCK_EX | LOCK_NB)) {
		what = "another server uses it; stop that one or name another directory with --shadow";
		goto failed;
	}
	/* A file of another version counts as no file: the TA makes each record anew when somebody needs it. */
	if (!journal_open(&shadow->log, shadow->directory, &log_format, take_entry, shadow))
		goto failed_errno;
	return shadow;

failed_errno:
	what = strerror(errno);
failed:
	(void)snprintf(problem, size, "%s: %s", directory ? directory : "shadow", what);
	shadow_close(shadow);
	return NULL;
}

void shadow_close(struct shadow *shadow)
{
	if (!shadow)
		return;
	journal_close(&shadow->log);
	if (shadow->directory >= 0)
		(void)close(shadow->directory);
	free(shadow->slots);
	free(shadow->free_slots);
	free(shadow->table);
	free(shadow);
}

uint32_t shadow_find(const struct shadow *shadow, const char *id)
{
	uint8_t bytes[KEYCACHE_ID_BYTES];
	uint8_t length = id_put(bytes, id);

	return shadow->table[place(shadow, bytes, length)] - 1;
}

const struct keycache_record *shadow_record(const struct shadow *shadow, uint32_t slot)
{
	return slot < shadow->slot_count && shadow->slots[slot].used ? &shadow->slots[slot].record : NULL;
}

uint32_t shadow_put(struct shadow *shadow, const struct keycache_record *record)
{
	struct id id;
	uint32_t slot;

	if (!id_take(&id, record->id, record->id_length))
		return SHADOW_NONE;
	slot = put(shadow, record);
	if (slot != SHADOW_NONE)
		journal_append(&shadow->log, ENTRY_PUT, record);
	return slot;
}

void shadow_remove(struct shadow *shadow, const char *id)
{
	struct keycache_record gone = { 0 };
	uint32_t at;

	gone.id_length = id_put(gone.id, id);
	at = place(shadow, gone.id, gone.id_length);
	if (!shadow->table[at])
		return;
	take_out(shadow, at);
	journal_append(&shadow->log, ENTRY_REMOVE, &gone);
}

/* Should the disk not come to know the new log's name, the old one's records are stale where they differ, which costs time. */
static bool compact(struct shadow *shadow)
{
	struct buffer all = { 0 };
	bool good;

	for (uint32_t i = 0; i < shadow->slot_count; i++)
		if (shadow->slots[i].used)
			journal_add(&shadow->log, &all, ENTRY_PUT, &shadow->slots[i].record);
	good = journal_replace(&shadow->log, &all);
	buffer_free(&all);
	return good;
}

/* A full disk costs speed after the next start, not keys: what it does not take is left out. */
bool shadow_write(struct shadow *shadow)
{
	if (shadow->log.new.size && journal_is_long(&shadow->log, shadow->records) && compact(shadow))
		return true;
	return journal_write(&shadow->log);
}

bool shadow_sync(struct shadow *shadow)
{
	bool good = shadow_write(shadow);

	return journal_sync(&shadow->log) && good;
}

bool shadow_dirty(const struct shadow *shadow)
{
	return shadow->log.unsynced;
}

int shadow_directory(const struct shadow *shadow)
{
	return shadow->directory;
}

struct shadow_counts shadow_counts(const struct shadow *shadow)
{
	return (struct shadow_counts){ shadow->records, shadow->log.counts };
}
