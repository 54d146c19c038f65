/* SPDX-License-Identifier: BSD-2-Clause */
/* keycache-payload: seals and opens what mosquitto_pub and mosquitto_sub carry. All that a client in C needs is here. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "keycache.h"

static const char help[] = "usage: keycache-payload seal NAME KEYFILE <text >payload\n"
			   "       keycache-payload open KEYFILE <payload >text\n"
			   "       keycache-payload sender <payload\n"
			   "\n"
			   "Exit codes: 0 done, 1 not sealed for this key, 2 usage, 4 cannot be read or written.\n";

static unsigned char in[KEYCACHE_PAYLOAD_HEAD + KEYCACHE_OVERHEAD + KEYCACHE_MOST + 1];
static unsigned char out[sizeof(in)];

static size_t read_all(FILE *file, void *to, size_t most)
{
	size_t size = file ? fread(to, 1, most, file) : most;

	return file && !ferror(file) ? size : most;
}

static int work(const char *verb, const char *name, const unsigned char *key, size_t key_size)
{
	size_t in_size = read_all(stdin, in, sizeof(in));
	size_t size = sizeof(out);
	struct keycache_payload payload;
	enum keycache_error error;

	if (in_size == sizeof(in)) {
		(void)fputs("keycache-payload: the input is too long, or cannot be read\n", stderr);
		return 4;
	}
	if (!strcmp(verb, "sender")) {
		if (!keycache_payload_read(&payload, in, in_size))
			return 1;
		return printf("%.*s\n", (int)payload.sender_size, payload.sender) < 0 ? 4 : 0;
	}
	if (!strcmp(verb, "seal"))
		error = keycache_payload_seal(name, key, key_size, in, in_size, out, &size);
	else
		error = keycache_payload_open(key, key_size, in, in_size, out, &size);
	if (error == KEYCACHE_NOT_GENUINE || (error && !strcmp(verb, "open"))) {
		(void)fputs("keycache-payload: the payload is not sealed for this key\n", stderr);
		return 1;
	}
	if (error) {
		(void)fputs("keycache-payload: a key has 16 or 32 bytes, a name 1 to 64 printable ones, a text up to "
			    "65536\n",
			    stderr);
		return 2;
	}
	return fwrite(out, 1, size, stdout) == size && !fflush(stdout) ? 0 : 4;
}

int main(int argc, char **argv)
{
	bool seal = argc == 4 && !strcmp(argv[1], "seal");
	bool open = argc == 3 && !strcmp(argv[1], "open");
	bool sender = argc == 2 && !strcmp(argv[1], "sender");
	unsigned char key[33];
	size_t key_size = 0;
	int code;

	if (!seal && !open && !sender) {
		(void)fputs(help, stderr);
		return 2;
	}
	if (!sender) {
		FILE *file = fopen(argv[argc - 1], "re");

		key_size = read_all(file, key, sizeof(key));
		if (file)
			(void)fclose(file);
	}
	code = work(argv[1], seal ? argv[2] : NULL, key, key_size);
	OPENSSL_cleanse(key, sizeof(key));
	OPENSSL_cleanse(in, sizeof(in));
	OPENSSL_cleanse(out, sizeof(out));
	return code;
}
