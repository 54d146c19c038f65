/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections: libuv moves bytes, OpenSSL works on memory between them.
 *
 * One thread. A command waits for the TA in it, and so does everyone: the TA has one instance and takes one command at a
 * time, more threads would only wait elsewhere. What was answered in one turn of the loop is sent at its end, after one
 * fdatasync for all SETs of that turn.
 */
#ifndef KEYCACHE_NET_H
#define KEYCACHE_NET_H

#include "options.h"
#include "service.h"

/* How many connections there can be with so many clients: theirs, those that shake hands, administrators'. */
unsigned net_connections(unsigned max_clients);
/* Serves until SIGTERM or SIGINT, then lets replies out and flushes. 0 or an exit code. */
int net_run(const struct options *options, struct service *service);

#endif /* KEYCACHE_NET_H */
