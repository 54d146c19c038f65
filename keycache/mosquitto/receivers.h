/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is connected, and to what: from the broker's events, so that one request can ask for the copies of all receivers of a
 * message. It is a guess. Who is missing (a shared subscription, one restored from the broker's file) gets a request of its own; a copy
 * too many is forgotten.
 */
#ifndef KEYCACHE_RECEIVERS_H
#define KEYCACHE_RECEIVERS_H

#include <stdbool.h>
#include <stddef.h>

#include "keycache.h"

struct receiver {
	struct receiver *next;
	char *client;
	char name[KEYCACHE_NAME + 1]; /* of its certificate */
	bool online;
	bool ended; /* its session is over: it goes with the next tick */
	bool held;  /* a message was kept back: none may overtake it */
	struct filter *filters;
};

/* NULL if nothing is known of it. */
struct receiver *receiver_find(const char *client);
/* Makes it if need be, connected under this name; NULL without memory. */
struct receiver *receiver_make(const char *client, const char *name);
void receiver_subscribe(struct receiver *receiver, const char *filter, bool no_local);
void receiver_unsubscribe(struct receiver *receiver, const char *filter);
void receiver_unsubscribe_all(struct receiver *receiver);
void receiver_remove(const char *client);
void receivers_clear(void);
void receivers_forget_ended(void);

/* Names of who would receive this, each once; how many. They stay until the next change of a receiver. */
size_t receivers_of(const char *topic, const char *from_client, const char **names, size_t most);
/* One that is held, or NULL. */
struct receiver *receivers_held(void);

#endif /* KEYCACHE_RECEIVERS_H */
