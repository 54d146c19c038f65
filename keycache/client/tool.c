/* SPDX-License-Identifier: BSD-2-Clause */
/* keycache: the command line tool. */
#include <errno.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo_ca.h"
#include "keycache.h"

#define DEMO_DAYS 3650
#define PATH_BYTES 4096

enum exit_code { DONE, NO, USAGE, UNREACHABLE, FAILED };

static const char help[] = "usage: keycache [options] VERB ...\n"
			   "\n"
			   "  set ID                  set a key; its 16 or 32 bytes come from stdin, or --in\n"
			   "  set ID --random         32 random bytes, which are printed nowhere\n"
			   "  get ID                  its bytes (the server must have been started with --allow-get)\n"
			   "  del ID\n"
			   "  exists ID               exit code 0 or 1\n"
			   "  seal ID                 stdin to stdout: nonce, ciphertext and tag in one\n"
			   "  open ID                 and back\n"
			   "  reencrypt FROM TO       what was sealed for FROM, for TO\n"
			   "  scan                    all ids\n"
			   "  info, ping\n"
			   "  demo-ca DIR [NAME ...]  certificates to try with: server, admin, and alice and bob or\n"
			   "                          the names given; an access list beside them\n"
			   "\n"
			   "  --host HOST, --port PORT     [127.0.0.1, 6380]\n"
			   "  --name NAME                  in the server's certificate, if it is not the host\n"
			   "  --cacert FILE, --cert FILE, --key FILE\n"
			   "  --demo DIR --as NAME         these three from what demo-ca made [--as admin]\n"
			   "  --aad TEXT                   what a message is about: to open it, or to re-encrypt\n"
			   "                               it, takes the same text\n"
			   "  --in FILE, --out FILE        in place of stdin and stdout\n"
			   "  --hex                        keys and messages as hexadecimal digits\n"
			   "  --days DAYS                  how long demo-ca's clients are valid [3650]\n"
			   "\n"
			   "Exit codes: 0 done, 1 no (no such key, or no right to it; not genuine), 2 usage,\n"
			   "3 no connection, 4 refused or failed.\n";

struct job {
	struct keycache_address address;
	const char *demo;
	const char *as;
	const char *aad;
	const char *in;
	const char *out;
	bool random;
	bool hex;
	long days;
	char paths[3][PATH_BYTES];
	unsigned char bytes[2 * (KEYCACHE_MOST + KEYCACHE_OVERHEAD) + 2];
	unsigned char result[KEYCACHE_MOST + KEYCACHE_OVERHEAD];
	size_t size;
	size_t result_size;
	char *const *words;
};

static int usage(const char *what, const char *why)
{
	(void)fprintf(stderr, "keycache: %s%s%s; see keycache --help\n", what, why ? ": " : "", why ? why : "");
	return USAGE;
}

static int digit(int one)
{
	if (one >= '0' && one <= '9')
		return one - '0';
	one |= 0x20;
	return one >= 'a' && one <= 'f' ? one - 'a' + 10 : -1;
}

static bool from_hex(struct job *job)
{
	size_t size = job->size;

	while (size && (job->bytes[size - 1] == '\n' || job->bytes[size - 1] == '\r'))
		size--;
	if (size % 2)
		return false;
	for (size_t i = 0; i < size / 2; i++) {
		int high = digit(job->bytes[2 * i]);
		int low = digit(job->bytes[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		job->bytes[i] = (unsigned char)(high * 16 + low);
	}
	job->size = size / 2;
	return true;
}

static int read_in(struct job *job, bool hex)
{
	FILE *file = job->in ? fopen(job->in, "re") : stdin;
	bool good;

	if (!file)
		return usage(job->in, strerror(errno));
	job->size = fread(job->bytes, 1, sizeof(job->bytes), file);
	good = !ferror(file) && job->size < sizeof(job->bytes);
	if (job->in)
		(void)fclose(file);
	if (!good)
		return usage("the input", "too long, or not to be read");
	if (hex && job->hex && !from_hex(job))
		return usage("the input", "--hex expects pairs of hexadecimal digits");
	return DONE;
}

static int write_out(const struct job *job, bool hex)
{
	FILE *file = job->out ? fopen(job->out, "we") : stdout;
	bool good = true;

	if (!file)
		return usage(job->out, strerror(errno));
	if (hex && job->hex) {
		for (size_t i = 0; i < job->result_size; i++)
			good = good && fprintf(file, "%02x", job->result[i]) == 2;
		good = good && fputc('\n', file) != EOF;
	} else {
		good = fwrite(job->result, 1, job->result_size, file) == job->result_size;
	}
	if (job->out ? fclose(file) : fflush(file))
		good = false;
	if (good)
		return DONE;
	(void)fprintf(stderr, "keycache: the output: %s\n", strerror(errno));
	return FAILED;
}

static int report(const struct keycache *handle, enum keycache_error error)
{
	if (!error)
		return DONE;
	(void)fprintf(stderr, "keycache: %s\n", keycache_text(handle));
	switch (error) {
	case KEYCACHE_NO_SUCH_KEY:
	case KEYCACHE_NOT_GENUINE:
		return NO;
	case KEYCACHE_ARGUMENT:
		return USAGE;
	case KEYCACHE_NETWORK:
	case KEYCACHE_TLS:
		return UNREACHABLE;
	default:
		return FAILED;
	}
}

static int verb_set(struct job *job, struct keycache *handle)
{
	int code = DONE;

	if (job->random) {
		job->size = 32;
		if (RAND_bytes(job->bytes, (int)job->size) != 1)
			return usage("--random", "no random numbers");
	} else {
		code = read_in(job, true);
	}
	return code ? code : report(handle, keycache_set(handle, job->words[0], job->bytes, job->size));
}

static int verb_get(struct job *job, struct keycache *handle)
{
	int code = report(handle, keycache_get(handle, job->words[0], job->result, &job->result_size));

	return code ? code : write_out(job, true);
}

static int verb_del(struct job *job, struct keycache *handle)
{
	return report(handle, keycache_del(handle, job->words[0]));
}

static int verb_exists(struct job *job, struct keycache *handle)
{
	bool exists = false;
	int code = report(handle, keycache_exists(handle, job->words[0], &exists));

	if (!code)
		(void)puts(exists ? "yes" : "no");
	return code ? code : exists ? DONE : NO;
}

static int verb_seal(struct job *job, struct keycache *handle)
{
	int code = read_in(job, false);

	if (!code)
		code = report(handle, keycache_seal_aad(handle, job->words[0], job->aad, strlen(job->aad), job->bytes,
							job->size, job->result, &job->result_size));
	return code ? code : write_out(job, true);
}

static int verb_open(struct job *job, struct keycache *handle)
{
	int code = read_in(job, true);

	if (!code)
		code = report(handle, keycache_open_aad(handle, job->words[0], job->aad, strlen(job->aad), job->bytes,
							job->size, job->result, &job->result_size));
	return code ? code : write_out(job, false);
}

static int verb_reencrypt(struct job *job, struct keycache *handle)
{
	int code = read_in(job, true);

	if (!code)
		code = report(handle,
			      keycache_reencrypt_aad(handle, job->words[0], job->words[1], job->aad, strlen(job->aad),
						     job->bytes, job->size, job->result, &job->result_size));
	return code ? code : write_out(job, true);
}

static void print_id(const char *id, void *unused)
{
	(void)unused;
	(void)puts(id);
}

static int verb_scan(struct job *job, struct keycache *handle)
{
	(void)job;
	return report(handle, keycache_scan(handle, print_id, NULL));
}

static int verb_info(struct job *job, struct keycache *handle)
{
	char *text = NULL;
	int code = report(handle, keycache_info(handle, &text));

	(void)job;
	if (!code)
		(void)fputs(text, stdout);
	free(text);
	return code;
}

static int verb_ping(struct job *job, struct keycache *handle)
{
	(void)job;
	return report(handle, keycache_ping(handle));
}

static const struct {
	const char *name;
	int words;
	int (*run)(struct job *job, struct keycache *handle);
} verbs[] = {
	{ "set", 1, verb_set },
	{ "get", 1, verb_get },
	{ "del", 1, verb_del },
	{ "exists", 1, verb_exists },
	{ "seal", 1, verb_seal },
	{ "open", 1, verb_open },
	{ "reencrypt", 2, verb_reencrypt },
	{ "scan", 0, verb_scan },
	{ "info", 0, verb_info },
	{ "ping", 0, verb_ping },
};

static int run(struct job *job, const char *name, int count)
{
	struct keycache *handle = NULL;
	size_t verb = 0;
	int code;

	while (verb < sizeof(verbs) / sizeof(verbs[0]) && strcmp(name, verbs[verb].name) != 0)
		verb++;
	if (verb == sizeof(verbs) / sizeof(verbs[0]))
		return usage(name, "no such verb");
	if (count != verbs[verb].words)
		return usage(name, "another number of words is expected");
	if (job->demo) {
		(void)snprintf(job->paths[0], PATH_BYTES, "%s/ca.crt", job->demo);
		(void)snprintf(job->paths[1], PATH_BYTES, "%s/%s.crt", job->demo, job->as);
		(void)snprintf(job->paths[2], PATH_BYTES, "%s/%s.key", job->demo, job->as);
		job->address.ca = job->paths[0];
		job->address.cert = job->paths[1];
		job->address.key = job->paths[2];
	}
	if (!job->address.ca || !job->address.cert || !job->address.key)
		return usage("--cacert, --cert and --key, or --demo", "missing");
	job->result_size = sizeof(job->result);
	code = report(handle, keycache_connect(&handle, &job->address));
	if (!code)
		code = verbs[verb].run(job, handle);
	keycache_close(handle);
	return code;
}

enum { HOST = 256, PORT, NAME, CACERT, CERT, KEY, DEMO, AS, AAD, IN, OUT, HEX, RANDOM, DAYS, HELP };

static const struct option options[] = {
	{ "host", required_argument, NULL, HOST }, { "port", required_argument, NULL, PORT },
	{ "name", required_argument, NULL, NAME }, { "cacert", required_argument, NULL, CACERT },
	{ "cert", required_argument, NULL, CERT }, { "key", required_argument, NULL, KEY },
	{ "demo", required_argument, NULL, DEMO }, { "as", required_argument, NULL, AS },
	{ "aad", required_argument, NULL, AAD },   { "in", required_argument, NULL, IN },
	{ "out", required_argument, NULL, OUT },   { "hex", no_argument, NULL, HEX },
	{ "random", no_argument, NULL, RANDOM },   { "days", required_argument, NULL, DAYS },
	{ "help", no_argument, NULL, HELP },       { NULL, 0, NULL, 0 },
};

int main(int argc, char **argv)
{
	static struct job job = { .as = "admin", .aad = "", .days = DEMO_DAYS };
	int option;
	int code;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case HOST:
			job.address.host = optarg;
			break;
		case PORT:
			job.address.port = optarg;
			break;
		case NAME:
			job.address.name = optarg;
			break;
		case CACERT:
			job.address.ca = optarg;
			break;
		case CERT:
			job.address.cert = optarg;
			break;
		case KEY:
			job.address.key = optarg;
			break;
		case DEMO:
			job.demo = optarg;
			break;
		case AS:
			job.as = optarg;
			break;
		case AAD:
			job.aad = optarg;
			break;
		case IN:
			job.in = optarg;
			break;
		case OUT:
			job.out = optarg;
			break;
		case HEX:
			job.hex = true;
			break;
		case RANDOM:
			job.random = true;
			break;
		case DAYS: {
			char *end = NULL;

			job.days = strtol(optarg, &end, 10);
			if (!*optarg || *end || job.days < -36500 || job.days > 36500)
				return usage("--days", "expected a number of days");
			break;
		}
		case HELP:
			(void)fputs(help, stdout);
			return DONE;
		default:
			return usage("an option", "unknown, or without its value");
		}
	}
	if (optind == argc)
		return usage("no verb", NULL);
	job.words = argv + optind + 1;
	if (!strcmp(argv[optind], "demo-ca")) {
		if (optind + 1 == argc)
			return usage("demo-ca", "name a directory");
		return demo_ca_make(argv[optind + 1], argv + optind + 2, (size_t)(argc - optind - 2), job.days);
	}
	code = run(&job, argv[optind], argc - optind - 1);
	OPENSSL_cleanse(job.bytes, sizeof(job.bytes));
	OPENSSL_cleanse(job.result, sizeof(job.result));
	return code;
}
