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

#include "buffer.h"
#include "id.h"

/* Entries of one size: after a damaged one the next is found by counting. */
enum entry_kind { ENTRY_PUT = 0x7570636b, ENTRY_REMOVE = 0x6d72636b };

struct entry {
	uint32_t kind;
	uint32_t checksum; /* of the rest */
	struct keycache_record record;
};

struct header {
	char magic[12];
	uint32_t entry_bytes;
};

static const struct header wanted_header = { .magic = "keycache 1", .entry_bytes = sizeof(struct entry) };

#define LOG_NAME "records.log"
#define NEW_NAME "records.new"
#define COMPACT_ENTRIES 4096u

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
	int directory;
	int log;
	struct buffer new;
	bool unsynced;
	struct shadow_counts counts;
};

/* CRC-32C: against torn and damaged entries only, forged ones are the TA's matter. */
static uint32_t checksum(const struct entry *entry)
{
	static uint32_t table[256];
	const uint8_t *bytes = (const uint8_t *)&entry->record;
	uint32_t crc = ~entry->kind;

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t one = i;

			for (int bit = 0; bit < 8; bit++)
				one = (one >> 1) ^ (one & 1 ? 0x82F63B78u : 0);
			table[i] = one;
		}
	}
	for (size_t i = 0; i < sizeof(entry->record); i++)
		crc = (crc >> 8) ^ table[(crc ^ bytes[i]) & 0xFF];
	return ~crc;
}

static uint32_t hash(const uint8_t *id, size_t size)
{
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ id[i]) * 16777619u;
	return sum ^ (sum >> 15);
}

static bool same(const struct slot *slot, const uint8_t *id, size_t size)
{
	return slot->record.id_length == size && !memcmp(slot->record.id, id, size);
}

/* The place of an id in the table, or the empty one where it would go. */
static uint32_t place(const struct shadow *shadow, const uint8_t *id, size_t size)
{
	uint32_t mask = shadow->table_size - 1;
	uint32_t at = hash(id, size) & mask;

	while (shadow->table[at] && !same(&shadow->slots[shadow->table[at] - 1], id, size))
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
		shadow->counts.records++;
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
	shadow->counts.records--;
	/* Close the gap: whoever was pushed on by this one moves back. */
	shadow->table[at] = 0;
	for (uint32_t next = (at + 1) & mask; shadow->table[next]; next = (next + 1) & mask) {
		const struct keycache_record *record = &shadow->slots[shadow->table[next] - 1].record;
		uint32_t moved = shadow->table[next];

		shadow->table[next] = 0;
		shadow->table[place(shadow, record->id, record->id_length)] = moved;
	}
}

static bool write_all(int file, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	while (size) {
		ssize_t written = write(file, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		size -= (size_t)written;
	}
	return true;
}

static void append(struct shadow *shadow, enum entry_kind kind, const struct keycache_record *record)
{
	struct entry entry = { .kind = kind, .record = *record };

	if (shadow->log < 0)
		return;
	entry.checksum = checksum(&entry);
	buffer_append(&shadow->new, &entry, sizeof(entry));
	shadow->counts.entries++;
	shadow->unsynced = true;
}

static bool usable(const struct entry *entry)
{
	const struct keycache_record *record = &entry->record;

	return entry->checksum == checksum(entry) && (entry->kind == ENTRY_PUT || entry->kind == ENTRY_REMOVE) &&
	       id_valid((const char *)record->id, record->id_length);
}

/* Reads the log; a torn end is cut off. */
static bool replay(struct shadow *shadow)
{
	struct header header;
	struct entry entries[64];
	off_t end = sizeof(header);
	ssize_t got = read(shadow->log, &header, sizeof(header));
	struct stat status;

	if (got < 0 || fstat(shadow->log, &status))
		return false;
	if (got != sizeof(header) || memcmp(&header, &wanted_header, sizeof(header))) {
		/* Empty, or of another version: the TA makes the records anew, one by one, as they are asked for. */
		if (got)
			shadow->counts.damaged++;
		return !ftruncate(shadow->log, 0) &&
		       pwrite(shadow->log, &wanted_header, sizeof(wanted_header), 0) == sizeof(wanted_header) &&
		       lseek(shadow->log, 0, SEEK_END) >= 0;
	}
	while ((got = pread(shadow->log, entries, sizeof(entries), end)) > 0) {
		size_t count = (size_t)got / sizeof(entries[0]);

		if (!count)
			break;
		for (size_t i = 0; i < count; i++) {
			const struct keycache_record *record = &entries[i].record;
			uint32_t at;

			shadow->counts.entries++;
			if (!usable(&entries[i])) {
				shadow->counts.damaged++;
				continue;
			}
			if (entries[i].kind == ENTRY_PUT) {
				if (put(shadow, record) == SHADOW_NONE)
					return false;
				continue;
			}
			at = place(shadow, record->id, record->id_length);
			if (shadow->table[at])
				take_out(shadow, at);
		}
		end += (off_t)(count * sizeof(entries[0]));
	}
	if (got < 0)
		return false;
	if (status.st_size != end)
		shadow->counts.damaged++;
	return !ftruncate(shadow->log, end) && lseek(shadow->log, end, SEEK_SET) == end;
}

struct shadow *shadow_open(const char *directory, char *problem, size_t size)
{
	struct shadow *shadow = calloc(1, sizeof(*shadow));
	const char *what = "out of memory";

	if (!shadow)
		goto failed;
	shadow->directory = -1;
	shadow->log = -1;
	if (!grow(shadow))
		goto failed;
	if (!directory)
		return shadow;
	what = strerror(EEXIST);
	if (mkdir(directory, 0700) && errno != EEXIST)
		goto failed_errno;
	shadow->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shadow->directory < 0)
		goto failed_errno;
	if (flock(shadow->directory, LOCK_EX | LOCK_NB)) {
		what = "another server uses it; stop that one or name another directory with --shadow";
		goto failed;
	}
	(void)unlinkat(shadow->directory, NEW_NAME, 0);
	shadow->log = openat(shadow->directory, LOG_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (shadow->log < 0 || !replay(shadow) || fsync(shadow->log) || fsync(shadow->directory))
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
	if (shadow->log >= 0) {
		(void)shadow_sync(shadow);
		(void)close(shadow->log);
	}
	if (shadow->directory >= 0)
		(void)close(shadow->directory);
	buffer_free(&shadow->new);
	free(shadow->slots);
	free(shadow->free_slots);
	free(shadow->table);
	free(shadow);
}

uint32_t shadow_find(const struct shadow *shadow, const char *id)
{
	return shadow->table[place(shadow, (const uint8_t *)id, strlen(id))] - 1;
}

const struct keycache_record *shadow_record(const struct shadow *shadow, uint32_t slot)
{
	return slot < shadow->slot_count && shadow->slots[slot].used ? &shadow->slots[slot].record : NULL;
}

uint32_t shadow_put(struct shadow *shadow, const struct keycache_record *record)
{
	uint32_t slot;

	if (!id_valid((const char *)record->id, record->id_length))
		return SHADOW_NONE;
	slot = put(shadow, record);
	if (slot != SHADOW_NONE)
		append(shadow, ENTRY_PUT, record);
	return slot;
}

void shadow_remove(struct shadow *shadow, const char *id)
{
	size_t size = strlen(id);
	uint32_t at = place(shadow, (const uint8_t *)id, size);
	struct keycache_record gone = { .id_length = (uint8_t)size };

	if (!shadow->table[at])
		return;
	take_out(shadow, at);
	memcpy(gone.id, id, size);
	append(shadow, ENTRY_REMOVE, &gone);
}

/* Writes a log of what is there now beside the old one and puts it in its place. */
static bool compact(struct shadow *shadow)
{
	struct buffer all = { 0 };
	uint64_t entries = 0;
	bool good;
	int file;

	buffer_append(&all, &wanted_header, sizeof(wanted_header));
	for (uint32_t i = 0; i < shadow->slot_count; i++) {
		struct entry entry = { .kind = ENTRY_PUT, .record = shadow->slots[i].record };

		if (!shadow->slots[i].used)
			continue;
		entry.checksum = checksum(&entry);
		buffer_append(&all, &entry, sizeof(entry));
		entries++;
	}
	file = openat(shadow->directory, NEW_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	good = file >= 0 && !all.failed && write_all(file, all.data, all.size) && !fsync(file) &&
	       !renameat(shadow->directory, NEW_NAME, shadow->directory, LOG_NAME);
	buffer_free(&all);
	if (!good) {
		if (file >= 0)
			(void)close(file);
		return false;
	}
	/*
	 * The new log has the name now, and goes on. Should power be lost before the disk knows the name, the old one is read
	 * again: its records are stale where they differ, which costs time.
	 */
	if (fsync(shadow->directory))
		shadow->counts.failures++;
	(void)close(shadow->log);
	shadow->log = file;
	shadow->counts.entries = entries;
	shadow->counts.compactions++;
	buffer_clear(&shadow->new);
	shadow->unsynced = false;
	return true;
}

bool shadow_write(struct shadow *shadow)
{
	off_t end;

	if (shadow->log < 0 || !shadow->new.size)
		return true;
	if (shadow->counts.entries > COMPACT_ENTRIES && shadow->counts.entries > 3 * (uint64_t)shadow->counts.records &&
	    compact(shadow))
		return true;
	end = lseek(shadow->log, 0, SEEK_CUR);
	if (shadow->new.failed || !write_all(shadow->log, shadow->new.data, shadow->new.size)) {
		/* A full disk costs speed after the next start, not keys: go on without these entries. */
		shadow->counts.failures++;
		if (end >= 0 && !ftruncate(shadow->log, end))
			(void)lseek(shadow->log, end, SEEK_SET);
		buffer_clear(&shadow->new);
		return false;
	}
	buffer_clear(&shadow->new);
	return true;
}

bool shadow_sync(struct shadow *shadow)
{
	bool good = shadow_write(shadow);

	if (shadow->log < 0 || !shadow->unsynced)
		return true;
	shadow->unsynced = false;
	if (fdatasync(shadow->log)) {
		shadow->counts.failures++;
		return false;
	}
	return good;
}

bool shadow_dirty(const struct shadow *shadow)
{
	return shadow->unsynced;
}

struct shadow_counts shadow_counts(const struct shadow *shadow)
{
	return shadow->counts;
}
