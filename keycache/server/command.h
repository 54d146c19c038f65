/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of commands share: a request on its way through the service. */
#ifndef KEYCACHE_COMMAND_H
#define KEYCACHE_COMMAND_H

#include <string.h>
#include <strings.h>

#include "service.h"

struct call;

struct command {
	const char *name;
	size_t least; /* words, the name among them */
	size_t most;
	void (*run)(const struct call *call);
	/* For the audit log: what it is if it is done; and which of its words are ids, or 0. */
	enum audit_kind kind;
	uint8_t from;
	uint8_t to;
	/* The first of the words of which each is a key and may take a call of the TA, or 0 if there is one key at most. */
	uint8_t several;
	/* It is not queued behind MULTI. */
	bool at_once;
};

struct call {
	const struct command *command;
	struct service *service;
	struct client *client;
	struct resp_request *request;
	struct buffer *reply;
};

static inline const struct resp_argument *argument(const struct call *call, size_t index)
{
	return &call->request->arguments[index];
}

static inline bool word_is(const struct resp_argument *one, const char *word)
{
	return one->size == strlen(word) && !strncasecmp((const char *)one->data, word, one->size);
}

static inline bool is_admin(const struct call *call)
{
	return service_is_admin(call->service, call->client);
}

/* Runs a request, and writes its result to the audit log. False, with nothing written: there is more to do. */
bool run_request(const struct call *call);

/* Why a request is refused, in more words than its client gets: for the audit log. The first reason counts. */
static inline void note(const struct call *call, const char *why)
{
	if (!call->service->why)
		call->service->why = why;
}

/* Writes a request's result to the audit log; its answer stands in the reply from `begin` on. */
void report_request(const struct call *call, size_t begin);
/* The same of a request about several keys, for one of them, with the TA's result. `to` may be NULL. */
void report_key(const struct call *call, const struct resp_argument *from, const struct resp_argument *to,
		uint32_t res);
/* The receivers of a message that have theirs. */
void report_copies(const struct call *call, const struct resp_argument *from, const struct resp_argument *to,
		   size_t count);

/* What a client wants of a key. */
enum purpose { TO_USE, TO_REENCRYPT, TO_KNOW, TO_MANAGE };

/* The id of an argument; or ID_ABSENT in its place, without the right to it, or (but TO_MANAGE) if the key's time is up. */
struct id key_of(const struct call *call, size_t index, enum purpose purpose);
/* False, and an answer, unless the client is an administrator and the argument an id. */
bool take_id_to_manage(const struct call *call, size_t index, struct id *id);
/* A decimal number of 32 bits. */
bool number(const struct resp_argument *one, uint32_t *value);
/* An error by a result of the TA. */
void answer_result(const struct call *call, uint32_t res);

/* What SET's options say of the key's deadline. */
struct lifetime {
	bool keep;     /* KEEPTTL */
	bool limited;  /* EX */
	uint64_t when; /* of EX: by expiry_now's clock */
	uint64_t before;
};

/*
 * Options of a command that gives a client a key: `*index` stands at one that is not known to others. True if it was one of these, and
 * *index is behind it. Else, with *wrong, an answer was given.
 */
bool take_lifetime(const struct call *call, size_t *index, struct lifetime *lifetime, bool *wrong);
/* Before the key is given to the TA: from here on it lives no longer than it shall. False, and an answer: do not go on. */
bool begin_lifetime(const struct call *call, struct lifetime *lifetime, const char *id);
/* Behind that, with the TA's result. False, and an answer, if that is RESULT_OK and the disk did not take the deadline. */
bool end_lifetime(const struct call *call, const struct lifetime *lifetime, const char *id, uint32_t res);

/* What id.h calls a key, of the client or the previous one: the TA's cache may not have it any more, */
void service_uncache(struct service *service, const char *name);
/* and there is no record of it any more. */
void service_drop(struct service *service, const char *name);
/* FORGET: KEYCACHE_NO_KEY if there is no previous key. */
uint32_t service_forget_previous(struct service *service, const char *id);

/* keys.c */
void command_set(const struct call *call);
void command_generate(const struct call *call);
void command_enrol(const struct call *call);
void command_trust(const struct call *call);
void command_identity(const struct call *call);
void command_forget(const struct call *call);
void command_backup(const struct call *call);
void command_keyinfo(const struct call *call);

void command_expire(const struct call *call);
void command_ttl(const struct call *call);
void command_persist(const struct call *call);

/* transaction.c */
void command_multi(const struct call *call);
void command_exec(const struct call *call);
void command_discard(const struct call *call);
void command_watch(const struct call *call);
/* Behind MULTI, in place of running it. True if the request is kept: it is the transaction's to free now. */
bool queue_request(const struct call *call);
/* A request behind MULTI was refused: EXEC will run none. */
void spoil_transaction(const struct client *client);

#endif /* KEYCACHE_COMMAND_H */
