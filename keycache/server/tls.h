/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCACHE_TLS_H
#define KEYCACHE_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "id.h"

/* TLS 1.3 alone, a client certificate from `ca` demanded. NULL, and `problem` names the file. */
SSL_CTX *tls_context(const char *cert, const char *key, const char *ca, char *problem, size_t size);
/* The id in the client's certificate: its one common name. False if it has none, two, or one that cannot be an id. */
bool tls_identity(const SSL *ssl, struct id *id);

#endif /* KEYCACHE_TLS_H */
