/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way to the key cache: copies of a message for its receivers, asked for ahead of time for all at once where they are known,
 * and kept for a moment. No call waits longer than the timeout for one read or write; while the server is gone, calls come
 * back at once, but for one attempt to connect now and then.
 */
#ifndef KEYCACHE_RELAY_H
#define KEYCACHE_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keycache.h"

enum relay_result {
	RELAY_DONE,
	RELAY_REFUSED, /* no key, no right, or not genuine: it will be so the next time, too */
	RELAY_LATER    /* the server is gone, or its TA starts anew */
};

/* A message that came by a topic, or is to go out by it. */
struct relayed {
	struct keycache_payload payload;
	const char *topic;
};

/* The texts must stay. */
void relay_start(const struct keycache_address *address);
void relay_stop(void);
/* Whether a call would reach the server now; connects if that is due. */
bool relay_reachable(void);
/* Forgets copies that nobody took. */
void relay_tick(void);

/* Copies for these receivers are made and kept; the result is about the sender. With none it says whether it is genuine. */
enum relay_result relay_ahead(const struct relayed *message, const char *const *names, size_t count);
/* How many copies of a message of this size can be kept at a time. */
size_t relay_room(size_t message_size);
/* Whether there is a copy for this receiver; it is made and kept if need be. */
enum relay_result relay_see(const struct relayed *message, const char *name);
/* The same, and hands it over: as many bytes as the message has, to be freed. */
enum relay_result relay_take(const struct relayed *message, const char *name, uint8_t **copy);

#endif /* KEYCACHE_RELAY_H */
