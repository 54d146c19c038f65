/* SPDX-License-Identifier: BSD-2-Clause */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "histogram.h"
#include "id.h"

/* How many pairs of a client and a kind have a limit of their own; further ones share one. */
#define LIMITS 256u
#define NAME_BYTES (KEYCACHE_ID_BYTES + 1)

struct limit {
	enum audit_kind kind; /* AUDIT_NOTHING: free */
	char name[NAME_BYTES];
	uint64_t begin; /* ms */
	uint32_t written;
	uint64_t left_out;
};

struct audit {
	const char *path;
	int file;
	bool uses;
	bool torn;    /* the last line is cut off, for want of room */
	bool failing; /* as was said on standard error */
	uint64_t lost;
	struct limit limits[LIMITS + 1]; /* the last one is the others' */
	struct audit_counts counts;
};

static const char *const kinds[] = { "", "server", "connection", "change", "refusal", "use" };

static const char standard_error[] = "-";

static int open_file(const char *path, char *problem, size_t size)
{
	/* Not to wait for a reader, should it be a pipe. */
	int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);

	if (file < 0)
		(void)snprintf(problem, size, "--audit %s: %s", path, strerror(errno));
	return file;
}

struct audit *audit_open(const char *path, bool uses, char *problem, size_t size)
{
	struct audit *audit = calloc(1, sizeof(*audit));

	if (!audit) {
		(void)snprintf(problem, size, "--audit: out of memory");
		return NULL;
	}
	audit->path = path;
	audit->uses = uses;
	audit->file = strcmp(path, standard_error) != 0 ? open_file(path, problem, size) : STDERR_FILENO;
	if (audit->file < 0) {
		free(audit);
		return NULL;
	}
	return audit;
}

bool audit_reopen(struct audit *audit, char *problem, size_t size)
{
	int file;

	if (!audit || audit->file == STDERR_FILENO)
		return true;
	file = open_file(audit->path, problem, size);
	if (file < 0)
		return false;
	(void)close(audit->file);
	audit->file = file;
	audit->torn = false;
	return true;
}

static void add_quoted(struct buffer *line, const void *text, size_t size)
{
	const uint8_t *bytes = text;

	buffer_text(line, "\"");
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '"' || bytes[i] == '\\')
			buffer_format(line, "\\%c", bytes[i]);
		else if (bytes[i] < ' ' || bytes[i] > '~')
			buffer_format(line, "\\u%04x", bytes[i]);
		else
			buffer_append(line, &bytes[i], 1);
	}
	buffer_text(line, "\"");
}

static void add_text(struct buffer *line, const char *name, const char *text, size_t size)
{
	buffer_format(line, ",\"%s\":", name);
	add_quoted(line, text, size);
}

static void add_word(struct buffer *line, const char *name, const char *text)
{
	if (text && *text)
		add_text(line, name, text, strlen(text));
}

/* One id as it is, several as a list. What cannot be an id could be anything that a client sent by mistake: it is left out. */
static void add_ids(struct buffer *line, const char *name, const struct resp_argument *ids, size_t count)
{
	const char *before = "";

	if (count == 1 && !id_valid((const char *)ids->data, ids->size))
		return;
	buffer_format(line, ",\"%s\":%s", name, count > 1 ? "[" : "");
	for (size_t i = 0; i < count; i++) {
		if (!id_valid((const char *)ids[i].data, ids[i].size))
			continue;
		buffer_text(line, before);
		add_quoted(line, ids[i].data, ids[i].size);
		before = ",";
	}
	buffer_text(line, count > 1 ? "]" : "");
}

static void add_time(struct buffer *line)
{
	struct timespec now;
	struct tm parts;
	char text[32];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	buffer_format(line, "{\"time\":\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

/* Whether it is all there. What there was no room for is taken back, or else the next line begins after it. */
static bool write_line(struct audit *audit, const struct buffer *line)
{
	const uint8_t *data = line->data;
	size_t size = line->size;
	ssize_t written;
	off_t end;

	/* A line begins with this one's end, if need be. */
	if (!audit->torn) {
		data++;
		size--;
	}
	if (line->failed) {
		errno = ENOMEM;
		return false;
	}
	do {
		written = write(audit->file, data, size);
	} while (written < 0 && errno == EINTR);
	if (written == (ssize_t)size) {
		audit->torn = false;
		return true;
	}
	if (written > 0) {
		end = lseek(audit->file, 0, SEEK_CUR);
		audit->torn = end < written || ftruncate(audit->file, end - written);
		errno = ENOSPC;
	}
	return false;
}

/* `line` begins with a line's end: see write_line(). */
static void put(struct audit *audit, struct buffer *line)
{
	buffer_text(line, "}\n");
	if (write_line(audit, line)) {
		audit->counts.lines++;
	} else {
		audit->counts.failures++;
		audit->lost++;
		if (!audit->failing)
			(void)fprintf(stderr, "keycached: --audit %s: %s. The server goes on without these lines\n",
				      audit->path, strerror(errno));
		audit->failing = true;
	}
	buffer_free(line);
}

static void begin(struct buffer *line, const char *kind, const char *name)
{
	*line = (struct buffer){ 0 };
	buffer_text(line, "\n");
	add_time(line);
	add_word(line, "kind", kind);
	add_word(line, "event", name);
}

static void say_lost(struct audit *audit)
{
	struct buffer line;

	if (!audit->lost)
		return;
	begin(&line, kinds[AUDIT_SERVER], "lost");
	buffer_format(&line, ",\"count\":%" PRIu64 "}\n", audit->lost);
	if (write_line(audit, &line)) {
		audit->counts.lines++;
		(void)fprintf(stderr, "keycached: --audit %s is written again; %" PRIu64 " lines are lost\n",
			      audit->path, audit->lost);
		audit->failing = false;
		audit->lost = 0;
	}
	buffer_free(&line);
}

/* A new window begins; of the one before it is said what was left out. */
static void end_window(struct audit *audit, struct limit *limit)
{
	struct buffer line;

	if (limit->left_out) {
		begin(&line, kinds[limit->kind], "left out");
		add_word(&line, "client", limit->name);
		buffer_format(&line, ",\"count\":%" PRIu64, limit->left_out);
		put(audit, &line);
	}
	*limit = (struct limit){ .kind = AUDIT_NOTHING };
}

static struct limit *limit_of(struct audit *audit, enum audit_kind kind, const char *name, uint64_t now)
{
	struct limit *free_one = NULL;

	for (struct limit *one = audit->limits; one < audit->limits + LIMITS; one++) {
		if (one->kind != AUDIT_NOTHING && now - one->begin >= AUDIT_WINDOW_MS)
			end_window(audit, one);
		if (one->kind == kind && !strcmp(one->name, name))
			return one;
		if (one->kind == AUDIT_NOTHING && !free_one)
			free_one = one;
	}
	if (!free_one) {
		free_one = &audit->limits[LIMITS];
		name = "";
		if (free_one->kind != AUDIT_NOTHING && now - free_one->begin < AUDIT_WINDOW_MS)
			return free_one;
		end_window(audit, free_one);
	}
	free_one->kind = kind;
	free_one->begin = now;
	(void)snprintf(free_one->name, sizeof(free_one->name), "%s", name);
	return free_one;
}

/* Who it is for limits: a client, or the host that no client is known of. */
static void limited_name(const struct audit_event *event, char name[NAME_BYTES])
{
	const char *text = event->client && *event->client ? event->client : event->address ? event->address : "";
	const char *port = text == event->address ? strrchr(text, ':') : NULL;
	int size = port ? (int)(port - text) : (int)strlen(text);

	(void)snprintf(name, NAME_BYTES, "%.*s", size, text);
}

static bool has_room(struct audit *audit, const struct audit_event *event)
{
	uint32_t most = event->kind == AUDIT_USE ? AUDIT_USES : AUDIT_BURST;
	char name[NAME_BYTES];
	struct limit *limit;

	if (event->kind == AUDIT_SERVER || event->kind == AUDIT_CHANGE)
		return true;
	limited_name(event, name);
	limit = limit_of(audit, event->kind, name, histogram_clock_ns() / 1000000);
	if (limit->written < most) {
		limit->written++;
		return true;
	}
	limit->left_out++;
	audit->counts.left_out++;
	return false;
}

bool audit_wants(const struct audit *audit, enum audit_kind kind)
{
	return audit && kind != AUDIT_NOTHING && (kind != AUDIT_USE || audit->uses);
}

void audit_write(struct audit *audit, const struct audit_event *event)
{
	struct buffer line;

	if (!audit_wants(audit, event->kind) || !has_room(audit, event))
		return;
	say_lost(audit);
	begin(&line, kinds[event->kind], event->name);
	add_word(&line, "client", event->client);
	add_word(&line, "address", event->address);
	if (event->from)
		add_ids(&line, "from", event->from, 1);
	if (event->to_count)
		add_ids(&line, "to", event->to, event->to_count);
	if (event->outcome)
		add_text(&line, "outcome", event->outcome,
			 event->outcome_size ? event->outcome_size : strlen(event->outcome));
	add_word(&line, "why", event->why);
	put(audit, &line);
}

void audit_tick(struct audit *audit)
{
	uint64_t now = histogram_clock_ns() / 1000000;

	for (struct limit *one = audit ? audit->limits : NULL; one && one <= audit->limits + LIMITS; one++)
		if (one->kind != AUDIT_NOTHING && now - one->begin >= AUDIT_WINDOW_MS)
			end_window(audit, one);
}

void audit_close(struct audit *audit)
{
	if (!audit)
		return;
	for (struct limit *one = audit->limits; one <= audit->limits + LIMITS; one++)
		end_window(audit, one);
	say_lost(audit);
	if (audit->file != STDERR_FILENO)
		(void)close(audit->file);
	free(audit);
}

struct audit_counts audit_counts(const struct audit *audit)
{
	return audit ? audit->counts : (struct audit_counts){ 0 };
}
