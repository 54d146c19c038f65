/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happened, for who looks into it afterwards: one line of JSON for each event, written whole and in order, and before the client
 * hears of it. There are no keys and no texts in it, and of what a client sends only ids that can be ids.
 *
 * A client that does the same again and again does not fill the disk: of the events of one kind and one client AUDIT_BURST
 * are written in AUDIT_WINDOW_MS (of uses AUDIT_USES), and then one line that says how many were left out. Changes are all
 * written: only administrators make them, and each takes a write of secure storage.
 */
#ifndef KEYCACHE_AUDIT_H
#define KEYCACHE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp.h"

#define AUDIT_WINDOW_MS 10000u
#define AUDIT_BURST 20u
#define AUDIT_USES 1000u

enum audit_kind {
	AUDIT_NOTHING,    /* a request that is of no interest, unless it is refused */
	AUDIT_SERVER,     /* start, stop, reload, repair */
	AUDIT_CONNECTION, /* accepted, refused, closed for a reason */
	AUDIT_CHANGE,
	AUDIT_REFUSAL,
	AUDIT_USE,
};

struct audit;

struct audit_event {
	enum audit_kind kind;
	const char *name; /* a command, or what else happened */
	const char *client;
	const char *address;
	const struct resp_argument *from; /* ids, NULL if there is none */
	const struct resp_argument *to;
	size_t to_count;
	const char *outcome; /* "OK", or the code of an error */
	size_t outcome_size; /* 0: all of it */
	const char *why;     /* NULL if there is nothing to say */
};

struct audit_counts {
	uint64_t lines;
	uint64_t left_out; /* by the limits above */
	uint64_t failures; /* lines that the disk did not take */
};

/* A file that is added to, or "-" for standard error. `uses`: AUDIT_USE is written, too. */
struct audit *audit_open(const char *path, bool uses, char *problem, size_t size);
/* The file of that name, which may be another one now. If it cannot be opened, the old one goes on. */
bool audit_reopen(struct audit *audit, char *problem, size_t size);
/* NULL is no log, here and below. Says first what was left out. */
void audit_close(struct audit *audit);
bool audit_wants(const struct audit *audit, enum audit_kind kind);
void audit_write(struct audit *audit, const struct audit_event *event);
/* From time to time: says what was left out. */
void audit_tick(struct audit *audit);
struct audit_counts audit_counts(const struct audit *audit);

#endif /* KEYCACHE_AUDIT_H */
