/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCACHE_DEMO_CA_H
#define KEYCACHE_DEMO_CA_H

#include <stddef.h>

/*
 * Makes DIR/ca.crt, server.crt, admin.crt and one certificate per name, each with its .key, and an access list. A
 * certificate authority that is there already is used again. `days` from now on they are valid; 0 or less: not any more.
 */
int demo_ca_make(const char *directory, char *const *names, size_t count, long days);

#endif /* KEYCACHE_DEMO_CA_H */
