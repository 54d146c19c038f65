/* SPDX-License-Identifier: BSD-2-Clause */
/* keycache: the command line tool. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo_ca.h"
#include "tool.h"

#define DEMO_DAYS 3650
#define KEY_BYTES 32
#define ANY_WORDS (-1)
#define USE_BYTES 256

static const char help[] = "usage: keycache [options] VERB ...\n"
			   "\n"
			   "Keys (administrators)\n"
			   "  set ID                  set a key; its 16 or 32 bytes come from stdin, or --in\n"
			   "  set ID --random         32 random bytes, which are printed nowhere\n"
			   "  generate ID             a key that is made in the TEE and nobody sees\n"
			   "    --use LIST            what the key is for, some of seal,open,from,to,get,named\n"
			   "                          [seal,open,from,to,get]. from: its messages are re-encrypted,\n"
			   "                          to: others' messages to it, named: only if they name it\n"
			   "    --keep SECONDS        the key that is replaced goes on opening for so long\n"
			   "    --expire SECONDS      the key is deleted after so long\n"
			   "    --bytes 16|32         of a key that is made [32]\n"
			   "  forget ID               the previous key, which --keep left, opens nothing any more\n"
			   "  del ID\n"
			   "  exists ID               exit code 0 or 1\n"
			   "  keyinfo ID              what a key is for, its version, whether it has a previous one\n"
			   "  scan                    all ids\n"
			   "\n"
			   "Messages\n"
			   "  seal ID                 stdin to stdout: nonce, ciphertext and tag in one\n"
			   "  open ID                 and back\n"
			   "  reencrypt FROM TO       what was sealed for FROM, for TO\n"
			   "  get ID                  the key's bytes (the server must have been started with\n"
			   "                          --allow-get, and the key be for that)\n"
			   "    --aad TEXT            what a message is about: to open it, or to re-encrypt it, takes\n"
			   "                          the same text\n"
			   "\n"
			   "An authority outside of the device, which enrols keys that the device's normal world\n"
			   "cannot read (no server needs to be there but for pair, enrol and restore)\n"
			   "  authority DIR init      make one in the new folder DIR; --encrypt asks for a passphrase\n"
			   "  authority DIR show      its fingerprints, and the devices that it knows\n"
			   "  authority DIR pair      have the server's device trust it; compare the fingerprints\n"
			   "    --fingerprint HEX, --yes   what the device's must be; do not ask\n"
			   "  authority DIR enrol ID  give ID a key: from stdin, --in, --random, or --generate in the\n"
			   "                          TEE; with --use, --named, --keep, --expire, --bytes as above\n"
			   "                          (but for get only if --use has it)\n"
			   "    --for FILE            with --generate: the client's public key, who is handed the key\n"
			   "                          over; what it gets is written to --out\n"
			   "    --at-once             no previous key stays, whoever asks for it\n"
			   "    --statement FILE      write a statement for `keycache enrol`, and ask no server\n"
			   "  authority DIR restore FILE   enrol the keys of a backup on the server's device;\n"
			   "                          --all: also those that were set by SET, and are set so again\n"
			   "  authority DIR hand-on DIR2   have the device trust the authority in DIR2 in its place\n"
			   "    --device NAME         which device, for all of these [device]\n"
			   "    --passphrase-file FILE     in place of being asked\n"
			   "  enrol FILE, trust FILE  bring an authority's statement to the server\n"
			   "  handover FILE           what --for got: the key to --out, with --client-key FILE (the\n"
			   "                          client's private key) and --device FILE (DIR/NAME.device)\n"
			   "  identity                the fingerprints of the device and of its authority\n"
			   "  backup                  all keys, sealed for the authority, to stdout or --out\n"
			   "\n"
			   "  info, ping\n"
			   "  demo-ca DIR [NAME ...]  certificates to try with: server, admin, and alice and bob or\n"
			   "                          the names given; an access list beside them\n"
			   "    --days DAYS           how long these clients are valid [3650]\n"
			   "\n"
			   "  --host HOST, --port PORT     [127.0.0.1, 6380]\n"
			   "  --name NAME                  in the server's certificate, if it is not the host\n"
			   "  --cacert FILE, --cert FILE, --key FILE\n"
			   "  --demo DIR --as NAME         these three from what demo-ca made [--as admin]\n"
			   "  --in FILE, --out FILE        in place of stdin and stdout (a new file: 0600)\n"
			   "  --hex                        keys and messages as hexadecimal digits\n"
			   "\n"
			   "Exit codes: 0 done, 1 no (no such key, or no right to it; not genuine), 2 usage,\n"
			   "3 no connection, 4 refused or failed.\n";

int tool_usage(const char *what, const char *why)
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

int tool_read(struct job *job, bool hex)
{
	FILE *file = job->in ? fopen(job->in, "re") : stdin;
	bool good;

	if (!file)
		return tool_usage(job->in, strerror(errno));
	job->size = fread(job->bytes, 1, sizeof(job->bytes), file);
	good = !ferror(file) && job->size < sizeof(job->bytes);
	if (job->in)
		(void)fclose(file);
	/* Standard input stays open. NOLINTNEXTLINE(clang-analyzer-unix.Stream) */
	if (!good)
		return tool_usage("the input", "too long, or not to be read");
	if (hex && job->hex && !from_hex(job))
		return tool_usage("the input", "--hex expects pairs of hexadecimal digits");
	return DONE;
}

/* A new file is for its user alone: what comes may be a key. */
static FILE *open_output(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return file < 0 ? NULL : fdopen(file, "w");
}

int tool_write(const struct job *job, bool hex)
{
	FILE *file = job->out ? open_output(job->out) : stdout;
	bool good = true;

	if (!file)
		return tool_usage(job->out, strerror(errno));
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

int tool_report(const struct keycache *handle, enum keycache_error error)
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

int tool_read_key(struct job *job)
{
	if (!job->random)
		return tool_read(job, true);
	job->size = job->key_bytes;
	if (RAND_bytes(job->bytes, (int)job->size) != 1)
		return tool_usage("--random", "no random numbers");
	return DONE;
}

static int verb_set(struct job *job, struct keycache *handle)
{
	int code = tool_read_key(job);

	return code ? code
		    : tool_report(handle,
				  keycache_set_terms(handle, job->words[0], job->bytes, job->size, &job->terms));
}

static int verb_generate(struct job *job, struct keycache *handle)
{
	return tool_report(handle, keycache_generate(handle, job->words[0], job->key_bytes, &job->terms));
}

static int verb_forget(struct job *job, struct keycache *handle)
{
	return tool_report(handle, keycache_forget(handle, job->words[0]));
}

static int verb_get(struct job *job, struct keycache *handle)
{
	int code = tool_report(handle, keycache_get(handle, job->words[0], job->result, &job->result_size));

	return code ? code : tool_write(job, true);
}

static int verb_del(struct job *job, struct keycache *handle)
{
	return tool_report(handle, keycache_del(handle, job->words[0]));
}

static int verb_exists(struct job *job, struct keycache *handle)
{
	bool exists = false;
	int code = tool_report(handle, keycache_exists(handle, job->words[0], &exists));

	if (!code)
		(void)puts(exists ? "yes" : "no");
	return code ? code : exists ? DONE : NO;
}

static int verb_seal(struct job *job, struct keycache *handle)
{
	int code = tool_read(job, false);

	if (!code)
		code = tool_report(handle, keycache_seal_aad(handle, job->words[0], job->aad, strlen(job->aad),
							     job->bytes, job->size, job->result, &job->result_size));
	return code ? code : tool_write(job, true);
}

static int verb_open(struct job *job, struct keycache *handle)
{
	int code = tool_read(job, true);

	if (!code)
		code = tool_report(handle, keycache_open_aad(handle, job->words[0], job->aad, strlen(job->aad),
							     job->bytes, job->size, job->result, &job->result_size));
	return code ? code : tool_write(job, false);
}

static int verb_reencrypt(struct job *job, struct keycache *handle)
{
	int code = tool_read(job, true);

	if (!code)
		code = tool_report(handle, keycache_reencrypt_aad(handle, job->words[0], job->words[1], job->aad,
								  strlen(job->aad), job->bytes, job->size, job->result,
								  &job->result_size));
	return code ? code : tool_write(job, true);
}

static void print_id(const char *id, void *unused)
{
	(void)unused;
	(void)puts(id);
}

static int verb_scan(struct job *job, struct keycache *handle)
{
	(void)job;
	return tool_report(handle, keycache_scan(handle, print_id, NULL));
}

static int print_text(int code, char *text)
{
	if (!code && text)
		(void)fputs(text, stdout);
	free(text);
	return code;
}

static int verb_info(struct job *job, struct keycache *handle)
{
	char *text = NULL;
	int code = tool_report(handle, keycache_info(handle, &text));

	(void)job;
	return print_text(code, text);
}

static int verb_keyinfo(struct job *job, struct keycache *handle)
{
	char *text = NULL;
	int code = tool_report(handle, keycache_keyinfo(handle, job->words[0], &text));

	return print_text(code, text);
}

static int verb_ping(struct job *job, struct keycache *handle)
{
	(void)job;
	return tool_report(handle, keycache_ping(handle));
}

static const struct {
	const char *name;
	int words;
	int (*run)(struct job *job, struct keycache *handle);
	int (*run_alone)(struct job *job); /* in its place: it looks after a connection itself */
} verbs[] = {
	{ "set", 1, verb_set, NULL },           { "get", 1, verb_get, NULL },
	{ "generate", 1, verb_generate, NULL }, { "forget", 1, verb_forget, NULL },
	{ "keyinfo", 1, verb_keyinfo, NULL },   { "del", 1, verb_del, NULL },
	{ "exists", 1, verb_exists, NULL },     { "seal", 1, verb_seal, NULL },
	{ "open", 1, verb_open, NULL },         { "reencrypt", 2, verb_reencrypt, NULL },
	{ "scan", 0, verb_scan, NULL },         { "info", 0, verb_info, NULL },
	{ "ping", 0, verb_ping, NULL },         { "authority", ANY_WORDS, NULL, verb_authority },
	{ "enrol", 1, NULL, verb_enrol },       { "trust", 1, NULL, verb_trust },
	{ "handover", 1, NULL, verb_handover }, { "identity", 0, NULL, verb_identity },
	{ "backup", 0, NULL, verb_backup },
};

int tool_connect(struct job *job, struct keycache **handle)
{
	enum keycache_error code;

	*handle = NULL;
	if (job->demo) {
		(void)snprintf(job->paths[0], TOOL_PATH_BYTES, "%s/ca.crt", job->demo);
		(void)snprintf(job->paths[1], TOOL_PATH_BYTES, "%s/%s.crt", job->demo, job->as);
		(void)snprintf(job->paths[2], TOOL_PATH_BYTES, "%s/%s.key", job->demo, job->as);
		job->address.ca = job->paths[0];
		job->address.cert = job->paths[1];
		job->address.key = job->paths[2];
	}
	if (!job->address.ca || !job->address.cert || !job->address.key)
		return tool_usage("--cacert, --cert and --key, or --demo", "missing");
	code = keycache_connect(handle, &job->address);
	return tool_report(*handle, code);
}

static int run(struct job *job, const char *name)
{
	struct keycache *handle = NULL;
	size_t verb = 0;
	int code;

	while (verb < sizeof(verbs) / sizeof(verbs[0]) && strcmp(name, verbs[verb].name) != 0)
		verb++;
	if (verb == sizeof(verbs) / sizeof(verbs[0]))
		return tool_usage(name, "no such verb");
	if (verbs[verb].words != ANY_WORDS && job->count != verbs[verb].words)
		return tool_usage(name, "another number of words is expected");
	job->result_size = sizeof(job->result);
	if (verbs[verb].run_alone)
		return verbs[verb].run_alone(job);
	code = tool_connect(job, &handle);
	if (!code)
		code = verbs[verb].run(job, handle);
	keycache_close(handle);
	return code;
}

/* What the command line gives: a text, or that an option is there. */
static struct job job = { .as = "admin", .aad = "", .days = DEMO_DAYS, .key_bytes = KEY_BYTES };
static const char *days;
static const char *keep;
static const char *lifetime;
static const char *key_bytes;
static bool wants_help;

static const struct {
	const char *name;
	const char **text;
	bool *flag;
} choices[] = {
	{ "host", &job.address.host, NULL },
	{ "port", &job.address.port, NULL },
	{ "name", &job.address.name, NULL },
	{ "cacert", &job.address.ca, NULL },
	{ "cert", &job.address.cert, NULL },
	{ "key", &job.address.key, NULL },
	{ "demo", &job.demo, NULL },
	{ "as", &job.as, NULL },
	{ "aad", &job.aad, NULL },
	{ "in", &job.in, NULL },
	{ "out", &job.out, NULL },
	{ "hex", NULL, &job.hex },
	{ "random", NULL, &job.random },
	{ "days", &days, NULL },
	{ "use", &job.terms.use, NULL },
	{ "keep", &keep, NULL },
	{ "expire", &lifetime, NULL },
	{ "bytes", &key_bytes, NULL },
	{ "named", NULL, &job.named },
	{ "at-once", NULL, &job.at_once },
	{ "generate", NULL, &job.generate },
	{ "for", &job.receiver, NULL },
	{ "statement", &job.statement, NULL },
	{ "device", &job.device, NULL },
	{ "fingerprint", &job.fingerprint, NULL },
	{ "yes", NULL, &job.yes },
	{ "encrypt", NULL, &job.encrypt },
	{ "passphrase-file", &job.passphrase, NULL },
	{ "client-key", &job.client_key, NULL },
	{ "all", NULL, &job.all },
	{ "help", NULL, &wants_help },
};

#define CHOICES (sizeof(choices) / sizeof(choices[0]))

/* A number from `least` on. */
static bool number(const char *text, long least, long most, long *value)
{
	char *end = NULL;

	errno = 0;
	*value = strtol(text, &end, 10);
	return *text && !*end && !errno && *value >= least && *value <= most;
}

/* The options that are numbers; and --named, which is a word of --use. */
static int take_values(void)
{
	static char use[USE_BYTES];
	long value = 0;

	if (job.named) {
		(void)snprintf(use, sizeof(use), "%s%snamed", job.terms.use ? job.terms.use : "",
			       job.terms.use ? "," : "");
		job.terms.use = use;
	}

	if (days && !number(days, -36500, 36500, &job.days))
		return tool_usage("--days", "expected a number of days");
	if (keep) {
		if (!number(keep, 1, 315360000, &value))
			return tool_usage("--keep", "expected 1 to 315360000 seconds");
		job.terms.keep = (unsigned)value;
	}
	if (lifetime) {
		if (!number(lifetime, 1, 3153600000, &value))
			return tool_usage("--expire", "expected 1 to 3153600000 seconds");
		job.terms.lifetime = (unsigned)value;
	}
	if (key_bytes) {
		if (!number(key_bytes, 16, KEY_BYTES, &value) || (value != 16 && value != KEY_BYTES))
			return tool_usage("--bytes", "a key has 16 or 32 bytes");
		job.key_bytes = (unsigned)value;
	}
	return DONE;
}

int main(int argc, char **argv)
{
	struct option options[CHOICES + 1] = { 0 };
	int option;
	int code;

	for (size_t i = 0; i < CHOICES; i++)
		options[i] = (struct option){ choices[i].name, choices[i].text ? required_argument : no_argument, NULL,
					      (int)i };
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option < 0 || option >= (int)CHOICES)
			return tool_usage("an option", "unknown, or without its value");
		if (choices[option].text)
			*choices[option].text = optarg;
		else
			*choices[option].flag = true;
	}
	if (wants_help) {
		(void)fputs(help, stdout);
		return DONE;
	}
	code = take_values();
	if (code)
		return code;
	if (optind == argc)
		return tool_usage("no verb", NULL);
	job.words = argv + optind + 1;
	job.count = argc - optind - 1;
	if (!strcmp(argv[optind], "demo-ca")) {
		if (!job.count)
			return tool_usage("demo-ca", "name a directory");
		return demo_ca_make(job.words[0], job.words + 1, (size_t)job.count - 1, job.days);
	}
	code = run(&job, argv[optind]);
	OPENSSL_cleanse(job.bytes, sizeof(job.bytes));
	OPENSSL_cleanse(job.result, sizeof(job.result));
	return code;
}
