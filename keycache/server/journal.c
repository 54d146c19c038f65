/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct header {
	char magic[JOURNAL_MAGIC_BYTES];
	uint32_t entry_bytes;
};

/* Before an entry's payload. */
struct lead {
	uint32_t kind;
	uint32_t checksum; /* of the rest */
};

#define ENTRIES_AT_ONCE 64u
#define LONG_ENTRIES 4096u

static uint32_t entry_bytes(const struct journal_format *format)
{
	return (uint32_t)sizeof(struct lead) + format->payload;
}

static struct header header_of(const struct journal_format *format)
{
	struct header header = { .entry_bytes = entry_bytes(format) };

	memcpy(header.magic, format->magic, sizeof(header.magic));
	return header;
}

/* CRC-32C: against torn and damaged entries only. Who forges one makes a checksum that fits. */
static uint32_t checksum(uint32_t kind, const void *payload, size_t size)
{
	static uint32_t table[256];
	const uint8_t *bytes = payload;
	uint32_t crc = ~kind;

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t one = i;

			for (int bit = 0; bit < 8; bit++)
				one = (one >> 1) ^ (one & 1 ? 0x82F63B78u : 0);
			table[i] = one;
		}
	}
	for (size_t i = 0; i < size; i++)
		crc = (crc >> 8) ^ table[(crc ^ bytes[i]) & 0xFF];
	return ~crc;
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

struct journal journal_none(void)
{
	return (struct journal){ .directory = -1, .file = -1 };
}

static bool cut(const struct journal *journal, off_t end)
{
	return !ftruncate(journal->file, end) && lseek(journal->file, end, SEEK_SET) == end;
}

/* Reads all entries; a torn end is cut off. */
static bool replay(struct journal *journal, journal_take take, void *owner)
{
	const struct header wanted = header_of(journal->format);
	uint8_t entries[ENTRIES_AT_ONCE * (sizeof(struct lead) + JOURNAL_MOST_PAYLOAD)];
	const size_t one = wanted.entry_bytes;
	struct header header;
	off_t end = sizeof(header);
	ssize_t got = read(journal->file, &header, sizeof(header));
	struct stat status;

	if (got < 0 || fstat(journal->file, &status))
		return false;
	if (got != sizeof(header) || memcmp(&header, &wanted, sizeof(header)) != 0) {
		/* Empty, or of another version. */
		if (got)
			journal->counts.damaged++;
		journal->end = end;
		return !ftruncate(journal->file, 0) &&
		       pwrite(journal->file, &wanted, sizeof(wanted), 0) == sizeof(wanted) &&
		       lseek(journal->file, 0, SEEK_END) >= 0;
	}
	while ((got = pread(journal->file, entries, ENTRIES_AT_ONCE * one, end)) > 0) {
		size_t count = (size_t)got / one;

		if (!count)
			break;
		for (size_t i = 0; i < count; i++) {
			const uint8_t *payload = entries + i * one + sizeof(struct lead);
			struct lead lead;

			memcpy(&lead, entries + i * one, sizeof(lead));
			journal->counts.entries++;
			if (lead.checksum != checksum(lead.kind, payload, journal->format->payload)) {
				journal->counts.damaged++;
				continue;
			}
			if (!take(owner, journal, lead.kind, payload))
				return false;
		}
		end += (off_t)(count * one);
	}
	if (got < 0)
		return false;
	if (status.st_size != end)
		journal->counts.damaged++;
	journal->end = end;
	return cut(journal, end);
}

bool journal_open(struct journal *journal, int directory, const struct journal_format *format, journal_take take,
		  void *owner)
{
	*journal = journal_none();
	journal->format = format;
	journal->directory = directory;
	(void)unlinkat(directory, format->new_name, 0);
	journal->file = openat(directory, format->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return journal->file >= 0 && replay(journal, take, owner) && !fsync(journal->file) && !fsync(directory);
}

void journal_close(struct journal *journal)
{
	if (journal->file >= 0) {
		(void)journal_sync(journal);
		(void)close(journal->file);
	}
	buffer_free(&journal->new);
	*journal = journal_none();
}

void journal_add(const struct journal *journal, struct buffer *all, uint32_t kind, const void *payload)
{
	const struct header header = header_of(journal->format);
	const struct lead lead = { .kind = kind, .checksum = checksum(kind, payload, journal->format->payload) };

	if (!all->size)
		buffer_append(all, &header, sizeof(header));
	buffer_append(all, &lead, sizeof(lead));
	buffer_append(all, payload, journal->format->payload);
}

void journal_append(struct journal *journal, uint32_t kind, const void *payload)
{
	struct lead lead = { .kind = kind };

	if (journal->file < 0)
		return;
	lead.checksum = checksum(kind, payload, journal->format->payload);
	buffer_append(&journal->new, &lead, sizeof(lead));
	buffer_append(&journal->new, payload, journal->format->payload);
	journal->counts.entries++;
	journal->unsynced = true;
}

bool journal_is_long(const struct journal *journal, uint64_t needed)
{
	return journal->counts.entries > LONG_ENTRIES && journal->counts.entries > 3 * needed;
}

bool journal_replace(struct journal *journal, const struct buffer *all)
{
	const struct header header = header_of(journal->format);
	const void *data = all->size ? (const void *)all->data : (const void *)&header;
	const size_t size = all->size ? all->size : sizeof(header);
	int file = openat(journal->directory, journal->format->new_name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = file >= 0 && !all->failed && write_all(file, data, size) && !fsync(file) &&
		    !renameat(journal->directory, journal->format->new_name, journal->directory, journal->format->name);

	if (!good) {
		if (file >= 0)
			(void)close(file);
		return false;
	}
	/*
	 * The new log has the name now, and goes on. Should power be lost before the disk knows the name, the old one is read
	 * again: so journal_sync() says nothing good of later entries before it does.
	 */
	journal->unnamed = fsync(journal->directory);
	if (journal->unnamed)
		journal->counts.failures++;
	else
		journal->doubtful = false;
	(void)close(journal->file);
	journal->file = file;
	journal->end = (off_t)size;
	journal->counts.entries = (size - sizeof(header)) / entry_bytes(journal->format);
	journal->counts.compactions++;
	buffer_clear(&journal->new);
	journal->unsynced = false;
	return true;
}

bool journal_write(struct journal *journal)
{
	off_t end;

	if (journal->file < 0 || !journal->new.size)
		return true;
	end = lseek(journal->file, 0, SEEK_CUR);
	if (journal->new.failed || !write_all(journal->file, journal->new.data, journal->new.size)) {
		journal->counts.failures++;
		if (end < 0 || !cut(journal, end))
			journal->doubtful = true;
		buffer_clear(&journal->new);
		return false;
	}
	buffer_clear(&journal->new);
	return true;
}

/* Whether the disk knows that this file has the name. */
static bool is_named(struct journal *journal)
{
	if (journal->unnamed)
		journal->unnamed = fsync(journal->directory);
	return !journal->unnamed;
}

bool journal_sync(struct journal *journal)
{
	bool good = journal_write(journal);

	if (journal->file < 0 || !journal->unsynced)
		return true;
	journal->unsynced = false;
	if (fdatasync(journal->file) || !is_named(journal)) {
		journal->counts.failures++;
		(void)cut(journal, journal->end);
		journal->doubtful = true;
		return false;
	}
	journal->end = lseek(journal->file, 0, SEEK_CUR);
	return good;
}
