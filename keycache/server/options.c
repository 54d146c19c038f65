/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "version.h"

#define MAX_CLIENTS 1024u
#define IDLE_SECONDS 300u
#define AGE_SECONDS 86400u
#define TEE_SECONDS 30u
#define BOUND_BYTES (256u * 1024u)
/* The largest command and some room for its names. */
#define LEAST_REQUEST 1024u
#define MAX_REQUEST (128u * 1024u)

static const char
	help[] = "usage: keycached --tls-cert FILE --tls-key FILE --tls-ca FILE [options]\n"
		 "\n"
		 "Serves the keys of an OP-TEE trusted application over the Redis protocol. TLS 1.3\n"
		 "with client certificates only: a certificate's common name is the client's id.\n"
		 "\n"
		 "  --listen ADDRESS      where to listen [127.0.0.1]\n"
		 "  --port PORT           [6380]; 0 takes a free one and says which\n"
		 "  --tls-cert FILE       the server's certificate and what it hangs from (PEM)\n"
		 "  --tls-key FILE        its private key (PEM)\n"
		 "  --tls-ca FILE         who must have signed the clients' certificates (PEM)\n"
		 "  --tls-crl FILE        certificates that are good no more: a list of each authority\n"
		 "                        between --tls-ca and a client (PEM). One that is out of date\n"
		 "                        keeps everybody out\n"
		 "                        On SIGHUP these four and --acl are read anew, and who is not\n"
		 "                        let in any more is closed\n"
		 "  --acl FILE            lines `admin NAME`, `use NAME KEY`, `reencrypt NAME KEY`,\n"
		 "                        `relay NAME FROM TO`, `deny NAME`. Without it nobody can set keys\n"
		 "  --shadow DIR          where sealed records are kept for a fast restart;\n"
		 "                        without it they are kept in memory alone\n"
		 "  --audit FILE          a line of JSON for each connection, change, refusal, start and stop;\n"
		 "                        - is standard error. SIGHUP opens the file anew\n"
		 "  --audit-uses          there, also who used which key for what\n"
		 "  --metrics PORT        figures for Prometheus at http://127.0.0.1:PORT/metrics, for whoever\n"
		 "                        is on this machine; 0 takes a free one and says which\n"
		 "  --storage ree|rpmb    where the TA keeps the keys [ree]\n"
		 "  --policy none|lru|smart\n"
		 "                        which keys the TA keeps in its memory: none, those used last,\n"
		 "                        or what the server chooses (S3-FIFO) [smart]\n"
		 "  --bound BYTES         how much of its memory the TA uses for that [262144]\n"
		 "  --index-bound BYTES   and for the index of versions; 0 is the TA's own default [0]\n"
		 "  --durability full|relaxed\n"
		 "                        full: a SET is answered when it is in secure storage.\n"
		 "                        relaxed: up to 32 SETs, of at most a second, are lost if the\n"
		 "                        machine stops or the TA panics [full]\n"
		 "  --allow-get           GET answers keys, to who may use them. It holds for keys that\n"
		 "                        are set while it is on; keys set before stay in the TEE for good\n"
		 "  --idle-timeout SECONDS\n"
		 "                        close who sends no request for so long; 0 is never [300]\n"
		 "  --max-age SECONDS     close a connection that is so old, so that its certificate is\n"
		 "                        looked at again; 0 is never [86400]\n"
		 "  --max-clients COUNT   connections at a time [1024]. Beside them there is room for a\n"
		 "                        quarter as many that shake hands, half of these from one address,\n"
		 "                        and for 8 of administrators\n"
		 "  --max-per-address COUNT\n"
		 "                        of them from one address (IPv6: a network of 64 bits), but for\n"
		 "                        administrators; 0 is no other limit [0]\n"
		 "  --max-request BYTES   the largest request [131072]\n"
		 "  --tee-timeout SECONDS the server ends, to be started again, when the TA does not answer\n"
		 "                        for so long, or ten times so long at the start; 0 is never [30]\n"
#ifdef KEYCACHE_MEASURING
		 "  --naive               for comparison: no cache, secure storage is read for every use\n"
#endif /* KEYCACHE_MEASURING */
		 "  --repair              at the start, give up what secure storage has lost: its keys are gone\n"
		 "  --version, --help\n";

enum {
	OPTION_LISTEN = 256,
	OPTION_PORT,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
	OPTION_TLS_CA,
	OPTION_TLS_CRL,
	OPTION_ACL,
	OPTION_SHADOW,
	OPTION_AUDIT,
	OPTION_AUDIT_USES,
	OPTION_METRICS,
	OPTION_STORAGE,
	OPTION_POLICY,
	OPTION_BOUND,
	OPTION_INDEX_BOUND,
	OPTION_DURABILITY,
	OPTION_ALLOW_GET,
	OPTION_IDLE_TIMEOUT,
	OPTION_MAX_AGE,
	OPTION_MAX_CLIENTS,
	OPTION_MAX_PER_ADDRESS,
	OPTION_MAX_REQUEST,
	OPTION_TEE_TIMEOUT,
#ifdef KEYCACHE_MEASURING
	OPTION_NAIVE,
#endif /* KEYCACHE_MEASURING */
	OPTION_REPAIR,
	OPTION_VERSION,
	OPTION_HELP,
};

static const struct option names[] = {
	{ "listen", required_argument, NULL, OPTION_LISTEN },
	{ "port", required_argument, NULL, OPTION_PORT },
	{ "tls-cert", required_argument, NULL, OPTION_TLS_CERT },
	{ "tls-key", required_argument, NULL, OPTION_TLS_KEY },
	{ "tls-ca", required_argument, NULL, OPTION_TLS_CA },
	{ "tls-crl", required_argument, NULL, OPTION_TLS_CRL },
	{ "acl", required_argument, NULL, OPTION_ACL },
	{ "shadow", required_argument, NULL, OPTION_SHADOW },
	{ "audit", required_argument, NULL, OPTION_AUDIT },
	{ "audit-uses", no_argument, NULL, OPTION_AUDIT_USES },
	{ "metrics", required_argument, NULL, OPTION_METRICS },
	{ "storage", required_argument, NULL, OPTION_STORAGE },
	{ "policy", required_argument, NULL, OPTION_POLICY },
	{ "bound", required_argument, NULL, OPTION_BOUND },
	{ "index-bound", required_argument, NULL, OPTION_INDEX_BOUND },
	{ "durability", required_argument, NULL, OPTION_DURABILITY },
	{ "allow-get", no_argument, NULL, OPTION_ALLOW_GET },
	{ "idle-timeout", required_argument, NULL, OPTION_IDLE_TIMEOUT },
	{ "max-age", required_argument, NULL, OPTION_MAX_AGE },
	{ "max-clients", required_argument, NULL, OPTION_MAX_CLIENTS },
	{ "max-per-address", required_argument, NULL, OPTION_MAX_PER_ADDRESS },
	{ "max-request", required_argument, NULL, OPTION_MAX_REQUEST },
	{ "tee-timeout", required_argument, NULL, OPTION_TEE_TIMEOUT },
#ifdef KEYCACHE_MEASURING
	{ "naive", no_argument, NULL, OPTION_NAIVE },
#endif /* KEYCACHE_MEASURING */
	{ "repair", no_argument, NULL, OPTION_REPAIR },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static bool number(const char *name, const char *text, unsigned long least, unsigned long most, unsigned long *value)
{
	char *end = NULL;

	errno = 0;
	*value = strtoul(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *value >= least && *value <= most)
		return true;
	(void)fprintf(stderr, "keycached: --%s %s: expected a number from %lu to %lu\n", name, text, least, most);
	return false;
}

static bool word(const char *name, const char *text, const char *const *words, unsigned *value)
{
	for (*value = 0; words[*value]; (*value)++)
		if (!strcmp(text, words[*value]))
			return true;
	(void)fprintf(stderr, "keycached: --%s %s: expected ", name, text);
	for (unsigned i = 0; words[i]; i++)
		(void)fprintf(stderr, "%s%s", i ? " or " : "", words[i]);
	(void)fputs("\n", stderr);
	return false;
}

enum options_result options_read(struct options *options, int argc, char **argv)
{
	static const char *const storages[] = { "ree", "rpmb", NULL };
	static const char *const policies[] = { "none", "lru", "smart", NULL };
	static const char *const durabilities[] = { "full", "relaxed", NULL };
	const struct {
		const char *name;
		const char *const *value;
	} needed[] = {
		{ "tls-cert", &options->tls_cert },
		{ "tls-key", &options->tls_key },
		{ "tls-ca", &options->tls_ca },
	};
	int option;

	*options = (struct options){
		.listen = "127.0.0.1",
		.port = 6380,
		.tee = { .storage = KEYCACHE_REE, .policy = KEYCACHE_POLICY_HOST, .bound = BOUND_BYTES },
		.idle_timeout = IDLE_SECONDS,
		.max_age = AGE_SECONDS,
		.tee_timeout = TEE_SECONDS,
		.max_clients = MAX_CLIENTS,
		.max_request = MAX_REQUEST,
	};
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		unsigned long value = 0;
		unsigned choice = 0;
		bool good = true;

		switch (option) {
		case OPTION_LISTEN:
			options->listen = optarg;
			break;
		case OPTION_PORT:
			good = number("port", optarg, 0, 65535, &value);
			options->port = (unsigned)value;
			break;
		case OPTION_TLS_CERT:
			options->tls_cert = optarg;
			break;
		case OPTION_TLS_KEY:
			options->tls_key = optarg;
			break;
		case OPTION_TLS_CA:
			options->tls_ca = optarg;
			break;
		case OPTION_TLS_CRL:
			options->tls_crl = optarg;
			break;
		case OPTION_ACL:
			options->acl = optarg;
			break;
		case OPTION_SHADOW:
			options->shadow = optarg;
			break;
		case OPTION_AUDIT:
			options->audit = optarg;
			break;
		case OPTION_AUDIT_USES:
			options->audit_uses = true;
			break;
		case OPTION_METRICS:
			good = number("metrics", optarg, 0, 65535, &value);
			options->metrics = true;
			options->metrics_port = (unsigned)value;
			break;
		case OPTION_STORAGE:
			good = word("storage", optarg, storages, &choice);
			options->tee.storage = choice ? KEYCACHE_RPMB : KEYCACHE_REE;
			break;
		case OPTION_POLICY:
			good = word("policy", optarg, policies, &choice);
			/* There are as many words as policies. NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
			options->tee.policy = KEYCACHE_POLICY_NONE + choice;
			break;
		case OPTION_BOUND:
			good = number("bound", optarg, 0, UINT32_MAX, &value);
			options->tee.bound = (uint32_t)value;
			break;
		case OPTION_INDEX_BOUND:
			good = number("index-bound", optarg, 0, UINT32_MAX, &value);
			options->tee.index = (uint32_t)value;
			break;
		case OPTION_DURABILITY:
			good = word("durability", optarg, durabilities, &choice);
			options->relaxed = choice;
			break;
		case OPTION_ALLOW_GET:
			options->tee.flags |= KEYCACHE_ALLOW_GET;
			break;
		case OPTION_IDLE_TIMEOUT:
			good = number("idle-timeout", optarg, 0, 86400, &value);
			options->idle_timeout = (unsigned)value;
			break;
		case OPTION_MAX_AGE:
			good = number("max-age", optarg, 0, 31536000, &value);
			options->max_age = (unsigned)value;
			break;
		case OPTION_MAX_CLIENTS:
			good = number("max-clients", optarg, 1, 100000, &value);
			options->max_clients = (unsigned)value;
			break;
		case OPTION_MAX_PER_ADDRESS:
			good = number("max-per-address", optarg, 0, 100000, &value);
			options->max_per_address = (unsigned)value;
			break;
		case OPTION_MAX_REQUEST:
			good = number("max-request", optarg, LEAST_REQUEST, 16777216, &value);
			options->max_request = value;
			break;
		case OPTION_TEE_TIMEOUT:
			good = number("tee-timeout", optarg, 0, 86400, &value);
			options->tee_timeout = (unsigned)value;
			break;
#ifdef KEYCACHE_MEASURING
		case OPTION_NAIVE:
			options->tee.flags |= KEYCACHE_NAIVE;
			options->tee.policy = KEYCACHE_POLICY_NONE;
			break;
#endif /* KEYCACHE_MEASURING */
		case OPTION_REPAIR:
			options->repair = true;
			break;
		case OPTION_VERSION:
			(void)puts("keycached " KEYCACHE_VERSION);
			return OPTIONS_DONE;
		case OPTION_HELP:
			(void)fputs(help, stdout);
			return OPTIONS_DONE;
		default:
			(void)fputs("keycached: see keycached --help\n", stderr);
			return OPTIONS_WRONG;
		}
		if (!good)
			return OPTIONS_WRONG;
	}
	if (optind < argc) {
		(void)fprintf(stderr, "keycached: what is %s? See keycached --help\n", argv[optind]);
		return OPTIONS_WRONG;
	}
	if (options->audit_uses && !options->audit) {
		(void)fputs("keycached: --audit-uses needs --audit FILE\n", stderr);
		return OPTIONS_WRONG;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (*needed[i].value)
			continue;
		(void)fprintf(stderr,
			      "keycached: --%s FILE is missing; `keycache demo-ca DIR` makes files to try with\n",
			      needed[i].name);
		return OPTIONS_WRONG;
	}
	return OPTIONS_RUN;
}
