/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs about an authority: of the authority itself, and of who carries its statements. */
#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "authority.h"
#include "keycache_use.h"
#include "point.h"
#include "tool.h"

#define DEFAULT_DEVICE "device"
/* A restored previous key goes on opening for so long, unless --keep says otherwise. */
#define RESTORED_SECONDS 86400u

/* What a client is handed over: it proves to whom and from which device. */
struct parcel {
	struct keycache_enrolment statement;
	struct keycache_handover handover;
};

static const char *device_of(const struct job *job)
{
	return job->device ? job->device : DEFAULT_DEVICE;
}

static int fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "keycache: %s: %s\n", what, why);
	return FAILED;
}

/* A file that is written: one of this name that is there already stays until the new one is whole. */
struct output {
	const char *name;
	FILE *file;
	bool good;
	char path[TOOL_PATH_BYTES];
};

static int begin_output(struct output *output, const char *name)
{
	*output = (struct output){ .name = name, .good = true };
	if (snprintf(output->path, sizeof(output->path), "%s.new", name) >= (int)sizeof(output->path))
		return fail(name, strerror(ENAMETOOLONG));
	output->file = fopen(output->path, "we");
	return output->file ? DONE : fail(output->path, strerror(errno));
}

static bool add_output(struct output *output, const void *data, size_t size)
{
	output->good = output->good && fwrite(data, 1, size, output->file) == size;
	return output->good;
}

/* With a code that is an error nothing stays of it. */
static int end_output(struct output *output, int code)
{
	output->good = output->good && !fflush(output->file) && !fsync(fileno(output->file));
	if (fclose(output->file))
		output->good = false;
	if (!code && (!output->good || rename(output->path, output->name)))
		code = fail(output->name, strerror(errno));
	if (code)
		(void)unlink(output->path);
	return code;
}

static int write_file(const char *path, const void *data, size_t size)
{
	struct output output;
	int code = begin_output(&output, path);

	if (code)
		return code;
	(void)add_output(&output, data, size);
	return end_output(&output, DONE);
}

/* To be freed; NULL, and it was said why. */
static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes = NULL;
	size_t room = 0;

	*size = 0;
	while (file) {
		uint8_t *more;

		if (*size == room) {
			room = room ? 2 * room : 65536;
			more = realloc(bytes, room);
			if (!more)
				break;
			bytes = more;
		}
		*size += fread(bytes + *size, 1, room - *size, file);
		if (ferror(file))
			break;
		if (feof(file)) {
			(void)fclose(file);
			return bytes;
		}
	}
	(void)fail(path, file ? "cannot be read" : strerror(errno));
	if (file)
		(void)fclose(file);
	free(bytes);
	return NULL;
}

static void print_point(const char *what, const uint8_t point[KEYCACHE_POINT_BYTES])
{
	char text[FINGERPRINT_TEXT];

	if (point_is_none(point))
		(void)snprintf(text, sizeof(text), "none");
	else
		point_fingerprint(text, point);
	(void)printf("%-8s %s\n", what, text);
}

int verb_identity(struct job *job)
{
	struct keycache *handle;
	struct keycache_device device;
	int code = tool_connect(job, &handle);

	if (!code)
		code = tool_report(handle, keycache_identity(handle, &device));
	if (!code) {
		print_point("device", device.point);
		print_point("signer", device.signer);
		print_point("backup", device.backup);
	}
	keycache_close(handle);
	return code;
}

/* A statement of this size, from a file, to the server by `send`. */
static int send_file(struct job *job, size_t size,
		     int (*send)(struct job *job, struct keycache *handle, const void *bytes))
{
	struct keycache *handle = NULL;
	size_t got;
	uint8_t *bytes = read_file(job->words[0], &got);
	int code = DONE;

	if (!bytes)
		return USAGE;
	if (got != size)
		code = tool_usage(job->words[0], "is no such statement");
	if (!code)
		code = tool_connect(job, &handle);
	if (!code)
		code = send(job, handle, bytes);
	keycache_close(handle);
	free(bytes);
	return code;
}

/* What a client is handed over goes to --out. */
static int send_enrolment(struct job *job, struct keycache *handle, const void *bytes)
{
	struct parcel parcel;
	struct output output;
	size_t size = sizeof(parcel.handover);
	bool hands_over;
	int code = DONE;

	memcpy(&parcel.statement, bytes, sizeof(parcel.statement));
	hands_over = !point_is_none(parcel.statement.point) && parcel.statement.kind == KEYCACHE_GENERATED;
	if (hands_over && !job->out)
		return tool_usage("--out", "missing: a key is to be handed over, and this is its only copy");
	/* Before the key is made: a statement is good once. */
	if (hands_over)
		code = begin_output(&output, job->out);
	if (code)
		return code;
	code = tool_report(handle, keycache_enrol(handle, bytes, sizeof(parcel.statement), &job->terms,
						  &parcel.handover, &size));
	if (!code && size != (hands_over ? sizeof(parcel.handover) : 0))
		code = fail("the server", "what it hands over is no key");
	if (!hands_over)
		return code;
	(void)add_output(&output, &parcel, sizeof(parcel));
	return end_output(&output, code);
}

int verb_enrol(struct job *job)
{
	if (job->terms.use)
		return tool_usage("--use", "what the key is for stands in the statement");
	return send_file(job, sizeof(struct keycache_enrolment), send_enrolment);
}

static int send_trust(struct job *job, struct keycache *handle, const void *bytes)
{
	(void)job;
	return tool_report(handle, keycache_trust(handle, bytes, sizeof(struct keycache_trust)));
}

int verb_trust(struct job *job)
{
	return send_file(job, sizeof(struct keycache_trust), send_trust);
}

int verb_handover(struct job *job)
{
	uint8_t point[KEYCACHE_POINT_BYTES];
	struct parcel parcel;
	EVP_PKEY *client;
	size_t size;
	uint8_t *bytes;
	int code = DONE;

	if (!job->client_key || !job->device)
		return tool_usage("--client-key FILE and --device FILE", "missing");
	bytes = read_file(job->words[0], &size);
	if (!bytes)
		return USAGE;
	if (size != sizeof(parcel)) {
		free(bytes);
		return tool_usage(job->words[0], "is nothing that was handed over");
	}
	memcpy(&parcel, bytes, sizeof(parcel));
	free(bytes);
	client = authority_read_pair(job->client_key, job->passphrase);
	if (!client || !authority_read_point(job->device, point))
		code = USAGE;
	else if ((parcel.statement.key_length != 16 && parcel.statement.key_length != KEYCACHE_KEY_BYTES) ||
		 !handover_open(&parcel.statement, &parcel.handover, point, client, job->result)) {
		(void)fail(job->words[0], "is not sealed by this device for this client's key");
		code = NO;
	}
	EVP_PKEY_free(client);
	job->result_size = parcel.statement.key_length;
	return code ? code : tool_write(job, true);
}

static bool write_part(const void *part, size_t size, void *context)
{
	return add_output(context, part, size);
}

static int back_up_to(struct job *job, struct keycache *handle)
{
	struct output to = { .file = stdout, .good = true };
	int code = job->out ? begin_output(&to, job->out) : DONE;

	if (code)
		return code;
	code = tool_report(handle, keycache_backup(handle, write_part, &to));
	if (job->out)
		return end_output(&to, code);
	if (!code && (!to.good || fflush(stdout)))
		code = fail("the output", strerror(errno));
	return code;
}

int verb_backup(struct job *job)
{
	struct keycache *handle;
	int code = tool_connect(job, &handle);

	if (!code)
		code = back_up_to(job, handle);
	keycache_close(handle);
	return code;
}

static void print_device(const char *name, const uint8_t point[KEYCACHE_POINT_BYTES], void *unused)
{
	(void)unused;
	print_point(name, point);
}

static int show(struct job *job, struct authority *authority)
{
	(void)job;
	print_point("signer", authority->signer);
	print_point("backup", authority->backup);
	authority_devices(authority, print_device, NULL);
	return DONE;
}

/* Digits alone, whatever stands between them. */
static bool same_fingerprint(const char *given, const char *text)
{
	for (;;) {
		while (*given == ' ' || *given == ':')
			given++;
		while (*text == ' ')
			text++;
		if (!*given || !*text)
			return !*given && !*text;
		if (tolower((unsigned char)*given++) != *text++)
			return false;
	}
}

static int compare(const struct job *job, const uint8_t point[KEYCACHE_POINT_BYTES])
{
	char text[FINGERPRINT_TEXT];
	char answer[16] = "";

	point_fingerprint(text, point);
	(void)printf("The device says that its fingerprint is\n\n    %s\n\n", text);
	if (job->fingerprint) {
		if (same_fingerprint(job->fingerprint, text))
			return DONE;
		(void)fail("--fingerprint", "the device has another one: nothing was done");
		return NO;
	}
	(void)puts("Compare it with what `keycache identity` shows on the device itself, at its console: who is in "
		   "between\n"
		   "could show you another one, and would read every key that you enrol.");
	if (job->yes)
		return DONE;
	if (!isatty(STDIN_FILENO))
		return tool_usage("--fingerprint HEX, or --yes", "needed where nobody can be asked");
	(void)fputs("Are they the same? (yes/no) ", stdout);
	(void)fflush(stdout);
	if (fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n"))
		return DONE;
	(void)fail("pair", "nothing was done");
	return NO;
}

static int pair(struct job *job, struct authority *authority)
{
	struct keycache_device device;
	struct keycache_trust statement;
	struct keycache *handle;
	int code = tool_connect(job, &handle);

	if (!code)
		code = tool_report(handle, keycache_identity(handle, &device));
	if (!code && !point_is_none(device.signer) &&
	    (memcmp(device.signer, authority->signer, sizeof(device.signer)) != 0 ||
	     memcmp(device.backup, authority->backup, sizeof(device.backup)) != 0)) {
		(void)show(job, authority);
		print_point("device's", device.signer);
		code = fail("pair", "the device trusts another authority, which must name this one: "
				    "`keycache authority ITS_DIR hand-on THIS_DIR`");
	}
	if (!code)
		code = compare(job, device.point);
	if (!code && !authority_save_device(authority, device_of(job), device.point))
		code = FAILED;
	if (!code && point_is_none(device.signer))
		code = authority_trust(authority, NULL, device.point, &statement)
			       ? tool_report(handle, keycache_trust(handle, &statement, sizeof(statement)))
			       : FAILED;
	if (!code)
		(void)printf("The device \"%s\" and this authority know each other. The authority's fingerprints, as\n"
			     "`keycache identity` must show them on the device:\n\n",
			     device_of(job));
	if (!code)
		(void)show(job, authority);
	keycache_close(handle);
	return code;
}

static int hand_on(struct job *job, struct authority *authority)
{
	uint8_t point[KEYCACHE_POINT_BYTES];
	struct keycache_trust statement;
	struct keycache *handle = NULL;
	struct authority next;
	struct stat one;
	struct stat other;
	int code = FAILED;

	/* Each is locked while it is open. */
	if (!stat(authority->folder, &one) && !stat(job->words[2], &other) && one.st_dev == other.st_dev &&
	    one.st_ino == other.st_ino)
		return tool_usage(job->words[2], "is this authority itself");
	if (authority_open(&next, job->words[2], job->passphrase) &&
	    authority_read_device(authority, device_of(job), point) &&
	    authority_trust(&next, authority, point, &statement))
		code = DONE;
	if (!code && job->statement) {
		code = write_file(job->statement, &statement, sizeof(statement));
	} else if (!code) {
		code = tool_connect(job, &handle);
		if (!code)
			code = tool_report(handle, keycache_trust(handle, &statement, sizeof(statement)));
		keycache_close(handle);
	}
	if (!code && !authority_save_device(&next, device_of(job), point))
		code = FAILED;
	authority_close(&next);
	return code;
}

static int enrol(struct job *job, struct authority *authority)
{
	struct enrolment_wish wish = { .id = job->words[2], .key_size = job->key_bytes, .at_once = job->at_once };
	uint8_t point[KEYCACHE_POINT_BYTES];
	uint8_t receiver[KEYCACHE_POINT_BYTES];
	struct keycache_enrolment statement;
	struct keycache *handle = NULL;
	const char *problem = NULL;
	int code = DONE;

	if (!*wish.id || strlen(wish.id) > KEYCACHE_ID_BYTES)
		return tool_usage("ID", "has 1 to 64 characters");
	if (job->terms.use)
		problem = keycache_use_read(job->terms.use, strlen(job->terms.use), &wish.restrictions);
	if (problem)
		return tool_usage("--use", problem);
	/* What is wrapped so that the normal world does not see it leaves the TEE only if that was asked for. */
	if (!keycache_use_has(job->terms.use, "get"))
		wish.restrictions |= KEYCACHE_NO_GET;
	if (job->at_once && job->terms.keep)
		return tool_usage("--keep", "not with --at-once");
	if (job->receiver && (!job->generate || (!job->out && !job->statement)))
		return tool_usage("--for", "goes with --generate, and with --out or --statement");
	if (!job->generate)
		code = tool_read_key(job);
	if (!code && !job->generate) {
		wish.key = job->bytes;
		wish.key_size = job->size;
	}
	if (!code && wish.key_size != 16 && wish.key_size != KEYCACHE_KEY_BYTES)
		code = tool_usage("the key", "has 16 or 32 bytes");
	if (!code && job->receiver && !authority_read_point(job->receiver, receiver))
		code = USAGE;
	wish.client = job->receiver ? receiver : NULL;
	if (!code && (!authority_read_device(authority, device_of(job), point) ||
		      !authority_enrolment(authority, &wish, point, &statement)))
		code = FAILED;
	if (!code && job->statement)
		return write_file(job->statement, &statement, sizeof(statement));
	if (!code)
		code = tool_connect(job, &handle);
	if (!code)
		code = send_enrolment(job, handle, &statement);
	keycache_close(handle);
	return code;
}

/* A backup's flags as restrictions: what is worn out seals no more, wherever it is. */
static uint32_t restrictions_of(uint8_t flags)
{
	uint32_t restrictions = flags & KEYCACHE_RESTRICTIONS;

	if (!(flags & KEYCACHE_GETTABLE))
		restrictions |= KEYCACHE_NO_GET;
	if (flags & KEYCACHE_WORN)
		restrictions |= KEYCACHE_NO_SEAL | KEYCACHE_NO_TO;
	return restrictions;
}

struct restoring {
	struct job *job;
	struct authority *authority;
	struct keycache *handle;
	uint8_t point[KEYCACHE_POINT_BYTES];
};

static int give_back(const struct restoring *to, const struct saved_key *saved, unsigned keep)
{
	const struct keycache_terms terms = { .keep = keep };
	const struct enrolment_wish wish = { .id = saved->id,
					     .key = saved->key,
					     .key_size = saved->size,
					     .restrictions = restrictions_of(saved->flags) };
	struct keycache_enrolment statement;
	size_t none = 0;

	if ((wish.restrictions & KEYCACHE_NO_USE) == KEYCACHE_NO_USE) {
		(void)printf("%s: its key was for nothing any more, and is left out\n", saved->id);
		return DONE;
	}
	if (!(saved->flags & KEYCACHE_ENROLLED) && !to->job->all) {
		struct keycache_terms set = terms;
		char use[KEYCACHE_USE_BYTES];

		keycache_use_write(use, saved->flags & KEYCACHE_GETTABLE ? wish.restrictions | KEYCACHE_GETTABLE
									 : wish.restrictions);
		set.use = use;
		return tool_report(to->handle,
				   keycache_set_terms(to->handle, saved->id, saved->key, saved->size, &set));
	}
	if (!authority_enrolment(to->authority, &wish, to->point, &statement))
		return FAILED;
	return tool_report(to->handle, keycache_enrol(to->handle, &statement, sizeof(statement), &terms, NULL, &none));
}

/* By client, and the previous key before the key that replaced it. */
static int in_order(const void *one, const void *other)
{
	const struct saved_key *a = one;
	const struct saved_key *b = other;
	int order = strcmp(a->id, b->id);

	return order ? order : (int)b->previous - (int)a->previous;
}

/* The previous key of each client first, so that its key finds it there. */
static int give_all_back(const struct restoring *to, struct saved_key *keys, size_t count)
{
	unsigned keep = to->job->terms.keep ? to->job->terms.keep : RESTORED_SECONDS;
	size_t restored = 0;

	qsort(keys, count, sizeof(*keys), in_order);
	for (size_t i = 0; i < count; i++) {
		bool behind = i && keys[i - 1].previous && !strcmp(keys[i - 1].id, keys[i].id);
		int code = give_back(to, &keys[i], behind ? keep : 0);

		if (code) {
			(void)fprintf(stderr, "keycache: %s is not restored; %zu were before it\n", keys[i].id,
				      restored);
			return code;
		}
		restored += !keys[i].previous;
	}
	(void)printf("%zu clients have their keys\n", restored);
	return DONE;
}

static int restore(struct job *job, struct authority *authority)
{
	struct restoring to = { .job = job, .authority = authority };
	struct saved_key *keys = NULL;
	size_t count = 0;
	size_t size;
	uint8_t *bytes = read_file(job->words[2], &size);
	int code = DONE;

	if (!bytes)
		return USAGE;
	if (!authority_read_device(authority, device_of(job), to.point) ||
	    !authority_open_backup(authority, bytes, size, &keys, &count))
		code = FAILED;
	if (!code)
		code = tool_connect(job, &to.handle);
	if (!code)
		code = give_all_back(&to, keys, count);
	keycache_close(to.handle);
	OPENSSL_clear_free(keys, count * sizeof(*keys));
	free(bytes);
	return code;
}

static const struct {
	const char *name;
	int words; /* behind DIR and the name */
	int (*run)(struct job *job, struct authority *authority);
} verbs[] = {
	{ "show", 0, show },       { "pair", 0, pair },       { "enrol", 1, enrol },
	{ "restore", 1, restore }, { "hand-on", 1, hand_on },
};

int verb_authority(struct job *job)
{
	struct authority authority;
	size_t verb = 0;
	int code;

	if (job->count < 2)
		return tool_usage("authority", "name a folder, and init, show, pair, enrol, restore or hand-on");
	if (!strcmp(job->words[1], "init") && job->count == 2)
		return authority_make(job->words[0], job->encrypt, job->passphrase) ? DONE : FAILED;
	while (verb < sizeof(verbs) / sizeof(verbs[0]) && strcmp(job->words[1], verbs[verb].name) != 0)
		verb++;
	if (verb == sizeof(verbs) / sizeof(verbs[0]) || job->count != 2 + verbs[verb].words)
		return tool_usage(job->words[1], "expected init, show, pair, enrol ID, restore FILE or hand-on DIR");
	code = authority_open(&authority, job->words[0], job->passphrase) ? verbs[verb].run(job, &authority) : FAILED;
	authority_close(&authority);
	return code;
}
