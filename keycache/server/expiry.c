/* SPDX-License-Identifier: BSD-2-Clause */
#include "expiry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_PAUSE_MS 1000u
#define MOST_PAUSES 6u /* of 1, 2, 4, ... 64 seconds */
#define LEAST_ROOM 64u
/* While there are deadlines the journal hears what time it is. */
#define HEARTBEAT_MS (3600u * 1000u)

enum entry_kind { ENTRY_DEADLINE = 0x646b636b, ENTRY_TIME = 0x746b636b };

/* In the journal. */
struct entry {
	uint64_t written; /* the time then */
	uint64_t when;    /* EXPIRY_NEVER: there is none any more */
	uint8_t kind;
	uint8_t length;
	uint8_t reserved[6];
	uint8_t id[KEYCACHE_ID_BYTES]; /* zeros behind the id */
};

static const struct journal_format format = {
	.name = "deadlines.log", .new_name = "deadlines.new", .magic = "deadlines 1", .payload = sizeof(struct entry)
};

struct deadline {
	struct id id;
	enum expiry_kind kind;
	uint64_t when;
	uint64_t next; /* when to do something about it: `when`, or later after that failed */
	unsigned failures;
	uint32_t at; /* in the heap */
};

struct expiry {
	struct deadline **heap; /* the one that is due next first */
	uint32_t count;
	struct deadline **table; /* open addressing, a power of two, at most half full */
	uint32_t room;           /* of the table; the heap has half */
	uint64_t time;           /* the last one that was said, */
	uint64_t since_start;    /* and what the machine's clock had then */
	uint64_t written;        /* the last time that the journal has */
	struct expiry_counts counts;
	struct journal log;
};

static uint64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t expiry_now(struct expiry *expiry)
{
	uint64_t since_start = clock_ms(CLOCK_BOOTTIME);
	uint64_t wall = clock_ms(CLOCK_REALTIME);
	uint64_t steady = expiry->time + (since_start - expiry->since_start);

	expiry->since_start = since_start;
	expiry->time = wall > steady ? wall : steady;
	return expiry->time;
}

static uint32_t home(const struct expiry *expiry, enum expiry_kind kind, const char *id)
{
	return (id_hash(id, strlen(id)) + (uint32_t)kind) & (expiry->room - 1);
}

/* The place of a deadline in the table, or the empty one where it would go. */
static uint32_t place(const struct expiry *expiry, enum expiry_kind kind, const char *id)
{
	uint32_t at = home(expiry, kind, id);

	while (expiry->table[at] && (expiry->table[at]->kind != kind || strcmp(expiry->table[at]->id.text, id) != 0))
		at = (at + 1) & (expiry->room - 1);
	return at;
}

static struct deadline *find(const struct expiry *expiry, enum expiry_kind kind, const char *id)
{
	return expiry->table[place(expiry, kind, id)];
}

static void put_in_heap(struct expiry *expiry, uint32_t at, struct deadline *one)
{
	expiry->heap[at] = one;
	one->at = at;
}

/* Its time has changed: moves it to where it belongs. */
static void settle(struct expiry *expiry, struct deadline *one)
{
	uint32_t at = one->at;

	while (at && expiry->heap[(at - 1) / 2]->next > one->next) {
		put_in_heap(expiry, at, expiry->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < expiry->count && expiry->heap[child + 1]->next < expiry->heap[child]->next)
			child++;
		if (child >= expiry->count || expiry->heap[child]->next >= one->next)
			break;
		put_in_heap(expiry, at, expiry->heap[child]);
		at = child;
	}
	put_in_heap(expiry, at, one);
}

static bool grow(struct expiry *expiry)
{
	uint32_t room = expiry->room ? expiry->room * 2 : LEAST_ROOM;
	struct deadline **heap;
	struct deadline **table;

	if (room > UINT32_MAX / 16)
		return false;
	heap = realloc(expiry->heap, room / 2 * sizeof(struct deadline *));
	if (!heap)
		return false;
	expiry->heap = heap;
	table = calloc(room, sizeof(struct deadline *));
	if (!table)
		return false;
	free(expiry->table);
	expiry->table = table;
	expiry->room = room;
	for (uint32_t i = 0; i < expiry->count; i++)
		table[place(expiry, heap[i]->kind, heap[i]->id.text)] = heap[i];
	return true;
}

/* A new one, that is never due yet. */
static struct deadline *add(struct expiry *expiry, enum expiry_kind kind, const char *id)
{
	struct deadline *one;

	if (expiry->count == expiry->room / 2 && !grow(expiry))
		return NULL;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->kind = kind;
	memcpy(one->id.text, id, strlen(id));
	one->next = UINT64_MAX;
	expiry->table[place(expiry, kind, id)] = one;
	expiry->counts.waiting[kind - 1]++;
	put_in_heap(expiry, expiry->count++, one);
	return one;
}

static void take_away(struct expiry *expiry, struct deadline *one)
{
	uint32_t mask = expiry->room - 1;
	uint32_t at = place(expiry, one->kind, one->id.text);
	struct deadline *last = expiry->heap[--expiry->count];

	/* Close the gap: who was pushed on by this one moves back. */
	expiry->table[at] = NULL;
	for (uint32_t next = (at + 1) & mask; expiry->table[next]; next = (next + 1) & mask) {
		struct deadline *moved = expiry->table[next];

		expiry->table[next] = NULL;
		expiry->table[place(expiry, moved->kind, moved->id.text)] = moved;
	}
	if (last != one) {
		put_in_heap(expiry, one->at, last);
		settle(expiry, last);
	}
	expiry->counts.waiting[one->kind - 1]--;
	free(one);
}

static void set_to(struct expiry *expiry, struct deadline *one, uint64_t when)
{
	if (when == EXPIRY_NEVER) {
		take_away(expiry, one);
		return;
	}
	one->when = when;
	one->next = when;
	one->failures = 0;
	settle(expiry, one);
}

static bool take_entry(void *owner, struct journal *log, uint32_t kind, const void *payload)
{
	struct expiry *expiry = owner;
	struct deadline *one;
	struct entry entry;
	struct id id;

	memcpy(&entry, payload, sizeof(entry));
	if (kind == ENTRY_TIME || kind == ENTRY_DEADLINE)
		expiry->time = entry.written > expiry->time ? entry.written : expiry->time;
	if (kind == ENTRY_TIME)
		return true;
	if (kind != ENTRY_DEADLINE || !entry.kind || entry.kind > EXPIRY_KINDS ||
	    !id_make(&id, entry.id, entry.length)) {
		log->counts.damaged++;
		return true;
	}
	one = find(expiry, entry.kind, id.text);
	if (!one && entry.when != EXPIRY_NEVER)
		one = add(expiry, entry.kind, id.text);
	else if (!one)
		return true;
	if (one)
		set_to(expiry, one, entry.when);
	return one != NULL;
}

struct expiry *expiry_open(int directory, char *problem, size_t size)
{
	struct expiry *expiry = calloc(1, sizeof(*expiry));

	if (expiry) {
		expiry->log = journal_none();
		expiry->since_start = clock_ms(CLOCK_BOOTTIME);
	}
	errno = ENOMEM;
	if (!expiry || !grow(expiry) ||
	    (directory >= 0 && !journal_open(&expiry->log, directory, &format, take_entry, expiry))) {
		(void)snprintf(problem, size, "%s: %s", format.name, strerror(errno));
		expiry_close(expiry);
		return NULL;
	}
	expiry->written = expiry_now(expiry);
	return expiry;
}

static struct entry entry_of(struct expiry *expiry, const struct deadline *one, uint64_t when)
{
	struct entry entry = { .written = expiry_now(expiry),
			       .when = when,
			       .kind = (uint8_t)one->kind,
			       .length = (uint8_t)strlen(one->id.text) };

	memcpy(entry.id, one->id.text, entry.length);
	return entry;
}

static struct entry entry_of_time(struct expiry *expiry)
{
	expiry->written = expiry_now(expiry);
	return (struct entry){ .written = expiry->written };
}

/* A journal of what there is now. If that fails, the old one goes on. */
static bool write_anew(struct expiry *expiry)
{
	struct buffer all = { 0 };
	struct entry entry;
	bool good;

	entry = entry_of_time(expiry);
	journal_add(&expiry->log, &all, ENTRY_TIME, &entry);
	for (uint32_t i = 0; i < expiry->count; i++) {
		entry = entry_of(expiry, expiry->heap[i], expiry->heap[i]->when);
		journal_add(&expiry->log, &all, ENTRY_DEADLINE, &entry);
	}
	good = journal_replace(&expiry->log, &all);
	buffer_free(&all);
	return good;
}

void expiry_close(struct expiry *expiry)
{
	struct entry entry;

	if (!expiry)
		return;
	if (expiry->log.doubtful)
		(void)write_anew(expiry);
	if (expiry->count) {
		entry = entry_of_time(expiry);
		journal_append(&expiry->log, ENTRY_TIME, &entry);
	}
	journal_close(&expiry->log);
	for (uint32_t i = 0; i < expiry->count; i++)
		free(expiry->heap[i]);
	free(expiry->heap);
	free(expiry->table);
	free(expiry);
}

bool expiry_set(struct expiry *expiry, enum expiry_kind kind, const char *id, uint64_t when)
{
	struct deadline *one = find(expiry, kind, id);
	uint64_t before = one ? one->when : EXPIRY_NEVER;
	struct entry entry;

	if (before == when)
		return true;
	/* What the disk has of a write that failed is not known: it is written anew before anything is added. */
	if (expiry->log.doubtful && !write_anew(expiry))
		return false;
	if (!one)
		one = add(expiry, kind, id);
	if (!one)
		return false;
	entry = entry_of(expiry, one, when);
	journal_append(&expiry->log, ENTRY_DEADLINE, &entry);
	if (journal_sync(&expiry->log)) {
		expiry->written = entry.written;
		set_to(expiry, one, when);
		if (journal_is_long(&expiry->log, expiry->count))
			(void)write_anew(expiry);
		return true;
	}
	if (before == EXPIRY_NEVER)
		take_away(expiry, one);
	return false;
}

uint64_t expiry_when(const struct expiry *expiry, enum expiry_kind kind, const char *id)
{
	const struct deadline *one = find(expiry, kind, id);

	return one ? one->when : EXPIRY_NEVER;
}

bool expiry_is_over(struct expiry *expiry, enum expiry_kind kind, const char *id)
{
	uint64_t when = expiry->counts.waiting[kind - 1] ? expiry_when(expiry, kind, id) : EXPIRY_NEVER;

	return when != EXPIRY_NEVER && when <= expiry_now(expiry);
}

bool expiry_due(struct expiry *expiry, enum expiry_kind *kind, struct id *id)
{
	uint64_t now = expiry_now(expiry);

	if (!expiry->count)
		return false;
	if (now - expiry->written >= HEARTBEAT_MS) {
		struct entry entry = entry_of_time(expiry);

		if (expiry->log.doubtful)
			(void)write_anew(expiry);
		journal_append(&expiry->log, ENTRY_TIME, &entry);
		(void)journal_sync(&expiry->log);
	}
	if (expiry->heap[0]->next > now)
		return false;
	*kind = expiry->heap[0]->kind;
	*id = expiry->heap[0]->id;
	return true;
}

void expiry_put_off(struct expiry *expiry, enum expiry_kind kind, const char *id)
{
	struct deadline *one = find(expiry, kind, id);

	if (!one)
		return;
	one->next = expiry_now(expiry) + ((uint64_t)FIRST_PAUSE_MS << one->failures);
	if (one->failures < MOST_PAUSES)
		one->failures++;
	settle(expiry, one);
}

struct expiry_counts expiry_counts(const struct expiry *expiry)
{
	struct expiry_counts counts = expiry->counts;

	counts.log = expiry->log.counts;
	return counts;
}
