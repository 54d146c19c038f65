/* SPDX-License-Identifier: BSD-2-Clause */
/* keycache-payload: seals and opens what mosquitto_pub and mosquitto_sub carry. All that a client in C needs is here. */
#include <getopt.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "keycache.h"

static const char help[] = "usage: keycache-payload seal NAME KEYFILE [--topic TOPIC] <text >payload\n"
			   "       keycache-payload open KEYFILE [KEYFILE ...] [--topic TOPIC] <payload >text\n"
			   "       keycache-payload sender <payload\n"
			   "\n"
			   "  --topic TOPIC  seal: the payload opens as a message of this topic alone (at most\n"
			   "                 956 bytes). open: by which topic it came; one that was sealed\n"
			   "                 without a topic is refused then\n"
			   "\n"
			   "With several key files each is tried: while a key is being replaced, the new one and\n"
			   "the one before.\n"
			   "\n"
			   "Exit codes: 0 done, 1 not sealed for this key and topic, 2 usage, 4 cannot be read or\n"
			   "written.\n";

enum exit_code { DONE = 0, NOT_SEALED = 1, USAGE = 2, FAILED = 4 };

static unsigned char in[KEYCACHE_PAYLOAD_HEAD + KEYCACHE_OVERHEAD + KEYCACHE_MOST + 1];
static unsigned char out[sizeof(in)];
static size_t in_size;
static size_t out_size;

struct key {
	unsigned char bytes[33];
	size_t size;
};

static size_t read_all(FILE *file, void *to, size_t most)
{
	size_t size = file ? fread(to, 1, most, file) : most;

	return file && !ferror(file) ? size : most;
}

static void read_key(struct key *key, const char *path)
{
	FILE *file = fopen(path, "re");

	key->size = read_all(file, key->bytes, sizeof(key->bytes));
	if (file)
		(void)fclose(file);
}

static int fail(int code, const char *why)
{
	(void)fprintf(stderr, "keycache-payload: %s\n", why);
	return code;
}

static int write_out(void)
{
	return fwrite(out, 1, out_size, stdout) == out_size && !fflush(stdout) ? DONE : FAILED;
}

static int seal(const char *name, const char *path, const char *topic)
{
	enum keycache_error error;
	struct key key;

	read_key(&key, path);
	out_size = sizeof(out);
	error = topic ? keycache_payload_seal_topic(name, topic, key.bytes, key.size, in, in_size, out, &out_size)
		      : keycache_payload_seal(name, key.bytes, key.size, in, in_size, out, &out_size);
	OPENSSL_cleanse(&key, sizeof(key));
	if (error)
		return fail(USAGE,
			    "a key has 16 or 32 bytes, a name 1 to 64 printable ones, a topic up to 956, a text up to "
			    "65536");
	return write_out();
}

static int open_payload(char *const *paths, int count, const char *topic)
{
	enum keycache_error error = KEYCACHE_ARGUMENT;
	struct keycache_payload payload;

	if (!keycache_payload_read(&payload, in, in_size))
		return fail(NOT_SEALED, "that is no payload");
	if (payload.has_topic && !topic)
		return fail(NOT_SEALED, "the payload is sealed for a topic: say with --topic by which one it came");
	if (topic && !payload.has_topic)
		return fail(NOT_SEALED,
			    "the payload is sealed for no topic: it may have been moved. Without --topic it opens");
	for (int i = 0; error && i < count; i++) {
		struct key key;

		read_key(&key, paths[i]);
		out_size = sizeof(out);
		error = topic ? keycache_payload_open_topic(topic, key.bytes, key.size, in, in_size, out, &out_size)
			      : keycache_payload_open(key.bytes, key.size, in, in_size, out, &out_size);
		OPENSSL_cleanse(&key, sizeof(key));
	}
	if (error)
		return fail(NOT_SEALED, topic ? "the payload is not sealed for this key and topic"
					      : "the payload is not sealed for this key");
	return write_out();
}

static int sender(void)
{
	struct keycache_payload payload;

	if (!keycache_payload_read(&payload, in, in_size))
		return NOT_SEALED;
	return printf("%.*s\n", (int)payload.sender_size, payload.sender) < 0 ? FAILED : DONE;
}

static int work(char *const *words, int count, const char *topic)
{
	bool seals = count == 3 && !strcmp(words[0], "seal");
	bool opens = count >= 2 && !strcmp(words[0], "open");
	bool asks = count == 1 && !strcmp(words[0], "sender");

	if (!seals && !opens && !asks) {
		(void)fputs(help, stderr);
		return USAGE;
	}
	in_size = read_all(stdin, in, sizeof(in));
	if (in_size == sizeof(in))
		return fail(FAILED, "the input is too long, or cannot be read");
	if (seals)
		return seal(words[1], words[2], topic);
	return opens ? open_payload(words + 1, count - 1, topic) : sender();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "topic", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *topic = NULL;
	int option;
	int code;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h') {
			(void)fputs(help, stdout);
			return DONE;
		}
		if (option != 't') {
			(void)fputs(help, stderr);
			return USAGE;
		}
		topic = optarg;
	}
	code = work(argv + optind, argc - optind, topic);
	OPENSSL_cleanse(in, sizeof(in));
	OPENSSL_cleanse(out, sizeof(out));
	return code;
}
