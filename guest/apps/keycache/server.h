/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The key cache's own server, as it is for a device, in the measured machine: with certificates of a demo authority, over
 * loopback. Every function ends the program with an error record if it fails.
 */
#ifndef WORLDWISE_APPS_KEYCACHE_SERVER_H
#define WORLDWISE_APPS_KEYCACHE_SERVER_H

#include <keycache.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../bench/bench.h"

/* What `keycache demo-ca` made: ca.crt, server.crt, NAME.crt and NAME.key of each client; and the access list `acl`. */
#define SERVER_FOLDER "/tmp/demo"
#define SERVER_ADDRESS "127.0.0.1"
#define SERVER_PORT "6380"

/* Clients that have certificates in any case: who sets keys, and who may use every key (by SERVER_ACL). */
#define SERVER_ADMIN "admin"
#define SERVER_BROKER "broker"
#define SERVER_ACL "admin " SERVER_ADMIN "\nuse " SERVER_BROKER " *\n"

/*
 * Before the first start: brings loopback up, makes certificates for the administrator, the broker and `names` (ended by
 * NULL; NULL for none besides), and writes the access list, SERVER_ACL if `acl` is NULL.
 */
void server_prepare(const char *const *names, const char *acl);

/* Writes the access list anew. A server that runs reads it on SIGHUP. */
void server_write_acl(const char *acl);

/*
 * Starts keycached and returns once it answers an administrator. Its options are those that the case's parameters
 * `storage` and `policy` say, then `options` (ended by NULL; NULL for none). GET is off unless `--allow-get` is
 * among them, records are in memory alone unless `--shadow` is.
 *
 * `environment`, if not NULL, is one NAME=VALUE that it runs with.
 */
void server_start(const struct bench_plan *plan, const char *const *options, const char *environment);

/* The same without waiting until it answers. */
void server_launch(const struct bench_plan *plan, const char *const *options, const char *environment);

/* Takes another program for keycached from the next start on. */
void server_program(const char *path);

/* Waits until an administrator is answered; fails if the server has ended meanwhile. */
void server_wait(void);

/* Runs a program in a process of its own, which ends with this one. Its output goes to the file `output`, unless that is below 0. */
pid_t server_child(const char *path, const char *const *words, const char *environment, int output);

/* Its process, or 0 if none runs. */
pid_t server_pid(void);

/* Ends it by SIGTERM and waits; its exit status must be 0. Close your connections first: it waits for them to end. */
void server_stop(void);

/* Sends it a signal that it cannot outlive and waits until it is gone. */
void server_kill(int signal);

/* Connects as a client that has a certificate, by name. */
struct keycache *server_connect(const char *name);

/* Tries to; keycache_text() says why it failed. The caller closes the handle in any case. */
enum keycache_error server_try(struct keycache **handle, const char *name);

/* A number that INFO tells the administrator, such as "hits". */
uint64_t server_count(struct keycache *admin, const char *field);

/* Several of them, of one and the same moment: `values[i]` is that of `fields[i]`. */
void server_counts(struct keycache *admin, const char *const *fields, uint64_t *values, size_t count);

/* Ends the program unless a call of libkeycache went well. `index` tells which of several it was. */
void server_must(enum keycache_error error, const struct keycache *handle, const char *what, uint32_t index);

/*
 * Gives the processor to others until they have nothing left to do: the server, when it has answered. A client that slept
 * for it would leave the processor idle.
 */
void server_settle(void);

#endif /* WORLDWISE_APPS_KEYCACHE_SERVER_H */
