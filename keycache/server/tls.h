/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCACHE_TLS_H
#define KEYCACHE_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "id.h"

/* Files in PEM; `crl` may be NULL. */
struct tls_files {
	const char *cert;
	const char *key;
	const char *ca;
	const char *crl;
};

/* TLS 1.3 alone, a client certificate from `ca` demanded that is not revoked. NULL, and `problem` names the file. */
SSL_CTX *tls_context(const struct tls_files *files, char *problem, size_t size);
/* Why a handshake that has just failed did. */
const char *tls_reason(const SSL *ssl);
/* Whether the client's certificate would be let in now, with the authorities and lists of another context. */
bool tls_still_good(SSL_CTX *context, const SSL *ssl);
/* The id in the client's certificate: its one common name. False if it has none, two, or one that cannot be an id. */
bool tls_identity(const SSL *ssl, struct id *id);

#endif /* KEYCACHE_TLS_H */
