/* SPDX-License-Identifier: BSD-2-Clause */
/* What the server does with a request, whoever brought it: no sockets and no TLS here. */
#ifndef KEYCACHE_SERVICE_H
#define KEYCACHE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "acl.h"
#include "audit.h"
#include "buffer.h"
#include "expiry.h"
#include "id.h"
#include "policy.h"
#include "resp.h"
#include "shadow.h"
#include "tee.h"

struct service_counts {
	uint64_t connections;
	uint64_t refused; /* at the door: certificate, deny list, too many */
	uint64_t open;
	uint64_t timeouts;
	uint64_t malformed;
	uint64_t requests;
	uint64_t denied;  /* requests for a key that the client has no right to */
	uint64_t expired; /* keys and previous keys whose time was up, and that are gone */
};

/* There are fewer, those that are unknown among them. */
#define SERVICE_COMMANDS 40

struct service {
	struct tee tee;
	struct shadow *shadow;
	struct expiry *expiry;
	struct acl *acl;
	struct audit *audit; /* or NULL */
	const char *why;     /* of the request at work: see note() */
	struct id about;     /* whom a request is about, where none of its words says so: for the audit log */
	bool reported;       /* and it is in the log */
	bool relaxed;
	bool unflushed;  /* relaxed SETs may wait in the TA */
	bool unwritable; /* and the last attempt to have them written failed */
	bool smart;
	struct policy *policy;
	uint32_t policy_objects;
	uint32_t policy_generation;
	uint64_t stop_at; /* of tee.calls: a request about several keys goes on another time */
	struct service_counts counts;
	struct histogram latency[SERVICE_COMMANDS]; /* in the order of service_command() */
	time_t started;
	uint8_t in[KEYCACHE_PAYLOAD_BYTES + KEYCACHE_EXTRA_BYTES];
	uint8_t out[KEYCACHE_PAYLOAD_BYTES + KEYCACHE_EXTRA_BYTES];
	uint8_t fan[TEE_FAN_BYTES]; /* of RELAY: the copies of some receivers */
};

#define CLIENT_ADDRESS_BYTES 64

/* Who asks. */
struct client {
	struct id id;
	char address[CLIENT_ADDRESS_BYTES]; /* and port, for people */
	bool resp3;                         /* it asked for that */
	bool quit;                          /* it said so: close when the reply is sent */
	unsigned command;                   /* of its last request: see service_command() */
	size_t done;                        /* of a request about several keys: how many of them, */
	size_t found;                       /* and how many of these were there */
	struct transaction *transaction;    /* what came behind MULTI, or NULL */
};

/*
 * Appends one reply. False, and nothing is appended: there is more to do, ask again with the same request. A request behind MULTI
 * is kept: *request is NULL then.
 */
bool service_answer(struct service *service, struct client *client, struct resp_request **request,
		    struct buffer *reply);
/* Its connection is closed: gives back what was kept for it. */
void client_end(struct client *client);
/* The name of the command of that number, from 0 on; NULL behind the last one. */
const char *service_command(unsigned index);
bool service_is_admin(const struct service *service, const struct client *client);
/* False for who is on the deny list. */
bool service_admits(const struct service *service, const struct client *client);
/* Has the TA write what relaxed SETs left, if there is any. Says when that begins to fail, and when it works again. */
uint32_t service_flush(struct service *service);
/* Deletes what has outlived its time, some at a time. True: there is more. */
bool service_expire(struct service *service);
/* Deletes a key in the TA, and here its record and deadlines. With other results than RESULT_OK and KEYCACHE_NO_KEY it is still there. */
uint32_t service_delete(struct service *service, const char *id);
void service_end(struct service *service);

#endif /* KEYCACHE_SERVICE_H */
