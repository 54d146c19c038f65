/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines of keys: when the server deletes a key, and when it forgets a previous one. Each key has one of each kind at most.
 * They are in a journal beside the shadow's log, so that a restart keeps them; without a directory they are in memory alone.
 *
 * The clock is the wall's, but never goes back: not while the server runs (it goes on with the time since the machine's start then), and
 * not over a restart (it begins with the last time that is in the journal). So a clock that is set back prolongs nothing. One that
 * is set forward ends what ends until then: a device that starts without a clock counts the time that it was off when its clock is set.
 */
#ifndef KEYCACHE_EXPIRY_H
#define KEYCACHE_EXPIRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "id.h"
#include "journal.h"

enum expiry_kind {
	EXPIRY_DELETE = 1, /* the key and its previous one */
	EXPIRY_FORGET      /* the previous key alone */
};
#define EXPIRY_KINDS 2

#define EXPIRY_NEVER 0u
/* The longest time from now on: a hundred years, in ms. */
#define EXPIRY_MOST_MS (UINT64_C(100) * 365 * 86400 * 1000)

struct expiry;

struct expiry_counts {
	uint32_t waiting[EXPIRY_KINDS]; /* deadlines, in the order of the kinds */
	struct journal_counts log;
};

/* A directory that is somebody else's, or -1: in memory alone. */
struct expiry *expiry_open(int directory, char *problem, size_t size);
void expiry_close(struct expiry *expiry);

/* Milliseconds since 1970, UTC, by the clock described above. */
uint64_t expiry_now(struct expiry *expiry);
/* In place of the deadline that there is; EXPIRY_NEVER takes that away. On the disk when it returns. False: it stays as it was. */
bool expiry_set(struct expiry *expiry, enum expiry_kind kind, const char *id, uint64_t when);
/* A deadline, by expiry_now's clock, or EXPIRY_NEVER. */
uint64_t expiry_when(const struct expiry *expiry, enum expiry_kind kind, const char *id);
/* Its time is up: it is not used any more, whether or not it is deleted yet. */
bool expiry_is_over(struct expiry *expiry, enum expiry_kind kind, const char *id);
/* One whose time is up, or false. It comes again until it is taken away or put off. */
bool expiry_due(struct expiry *expiry, enum expiry_kind *kind, struct id *id);
/* What had to be done could not be: it is due again in a second, then in two, four, ... a minute. */
void expiry_put_off(struct expiry *expiry, enum expiry_kind kind, const char *id);
struct expiry_counts expiry_counts(const struct expiry *expiry);

#endif /* KEYCACHE_EXPIRY_H */
