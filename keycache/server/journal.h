/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log on disk of entries of one size, for what is in memory and must be there after a restart. An entry that is torn or damaged is
 * passed over: the next one is found by counting. Nobody has to trust it for more than its owner does.
 */
#ifndef KEYCACHE_JOURNAL_H
#define KEYCACHE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"

#define JOURNAL_MAGIC_BYTES 12
#define JOURNAL_MOST_PAYLOAD 256 /* bytes of an entry's contents */

struct journal_format {
	const char *name; /* in its directory; and while it is written anew */
	const char *new_name;
	char magic[JOURNAL_MAGIC_BYTES];
	uint32_t payload; /* bytes, a multiple of 4 */
};

struct journal_counts {
	uint64_t entries;
	uint64_t damaged;  /* entries passed over at the start */
	uint64_t failures; /* writes that the disk refused */
	uint64_t compactions;
};

struct journal {
	const struct journal_format *format;
	int directory; /* somebody else's */
	int file;      /* -1: there is none, and nothing is written */
	struct buffer new;
	bool unsynced;
	off_t end;     /* of what the disk has confirmed */
	bool doubtful; /* the disk may have what it refused, until the log is written anew */
	bool unnamed;  /* it was written anew, and the disk may not know yet that it has the name */
	struct journal_counts counts;
};

/* What to do with an entry that was read. False: give up. The caller counts an entry that makes no sense as damaged. */
typedef bool (*journal_take)(void *owner, struct journal *journal, uint32_t kind, const void *payload);

struct journal journal_none(void);
/* Makes or reads the file, and cuts a torn end off. False: see errno. */
bool journal_open(struct journal *journal, int directory, const struct journal_format *format, journal_take take,
		  void *owner);
void journal_close(struct journal *journal);
/* One more entry, in memory until it is written. */
void journal_append(struct journal *journal, uint32_t kind, const void *payload);
/* Hands what is new to the operating system. If it takes it not, that is forgotten, and the file as it was. */
bool journal_write(struct journal *journal);
/* The same, and waits for the disk. If that refuses, the file is as it was when it last did not, as far as it lets itself be. */
bool journal_sync(struct journal *journal);
/* Whether it has grown so much, for so many entries that are needed, that it is worth to be written anew. */
bool journal_is_long(const struct journal *journal, uint64_t needed);
/* A new file with what `all` has (journal_add fills it) takes the place of the old one; what is new and not written is in it. */
void journal_add(const struct journal *journal, struct buffer *all, uint32_t kind, const void *payload);
bool journal_replace(struct journal *journal, const struct buffer *all);

#endif /* KEYCACHE_JOURNAL_H */
