/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCACHE_OPTIONS_H
#define KEYCACHE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tee.h"

struct options {
	const char *listen;
	unsigned port;
	const char *tls_cert;
	const char *tls_key;
	const char *tls_ca;
	const char *tls_crl;
	const char *acl;
	const char *shadow;
	const char *audit; /* or NULL */
	bool audit_uses;
	bool metrics;
	unsigned metrics_port;
	struct tee_setup tee;
	bool relaxed;
	bool repair;
	unsigned idle_timeout; /* seconds, 0: never; and so */
	unsigned max_age;
	unsigned tee_timeout;
	unsigned max_clients;
	unsigned max_per_address; /* 0: max_clients is the limit */
	size_t max_request;
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* Says on stderr what is wrong and what to do about it; --help and --version are done with then. */
enum options_result options_read(struct options *options, int argc, char **argv);

#endif /* KEYCACHE_OPTIONS_H */
