/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MULTI, EXEC, DISCARD: what many client libraries put around a pipeline by default.
 *
 * Between MULTI and EXEC requests are kept; EXEC runs all of them in one turn of the loop, so no other client's request comes between
 * two of them. As in Redis nothing is taken back: a request that is refused leaves the others done. Nor is it one write of secure
 * storage: a power cut, or a TA that ends, leaves the first requests done and the others not.
 *
 * Everybody waits for an EXEC, so a transaction is bounded: TRANSACTION_KEYS keys and TRANSACTION_BYTES bytes.
 */
#include <stdlib.h>

#include "command.h"

#define TRANSACTION_KEYS 128u
#define TRANSACTION_BYTES (256u * 1024u)

struct queued {
	const struct command *command;
	struct resp_request *request;
};

struct transaction {
	struct queued queue[TRANSACTION_KEYS];
	size_t count;
	size_t keys;
	size_t bytes;
	unsigned multi; /* the number of MULTI: under this the time to queue a request is counted */
	bool spoilt;    /* a request was refused, so EXEC runs none */
};

static void free_transaction(struct transaction *transaction)
{
	for (size_t i = 0; transaction && i < transaction->count; i++)
		resp_request_free(transaction->queue[i].request);
	free(transaction);
}

void client_end(struct client *client)
{
	free_transaction(client->transaction);
	client->transaction = NULL;
}

void spoil_transaction(const struct client *client)
{
	if (client->transaction)
		client->transaction->spoilt = true;
}

/* How many calls of the TA a request takes, but for records that are made anew. */
static size_t keys_of(const struct call *call)
{
	const size_t several = call->command->several;

	return several && call->request->count > several ? call->request->count - several : 1;
}

bool queue_request(const struct call *call)
{
	struct transaction *transaction = call->client->transaction;
	size_t keys = keys_of(call);
	/* An argument that is empty takes memory, too. */
	size_t bytes = call->request->bytes + call->request->count * sizeof(call->request->arguments[0]);

	call->client->command = transaction->multi;
	if (keys > TRANSACTION_KEYS - transaction->keys || bytes > TRANSACTION_BYTES - transaction->bytes) {
		resp_error(call->reply, "ERR a transaction has at most 128 keys and 256 KiB: send several, or the "
					"requests without MULTI (redis-py: pipeline(transaction=False))");
		transaction->spoilt = true;
		return false;
	}
	resp_status(call->reply, "QUEUED");
	transaction->keys += keys;
	transaction->bytes += bytes;
	/* Once it is spoilt nothing in it will run. */
	if (transaction->spoilt)
		return false;
	transaction->queue[transaction->count++] = (struct queued){ call->command, call->request };
	return true;
}

void command_multi(const struct call *call)
{
	struct transaction *transaction;

	if (call->client->transaction) {
		resp_error(call->reply, "ERR MULTI calls can not be nested");
		return;
	}
	transaction = calloc(1, sizeof(*transaction));
	if (!transaction) {
		resp_error(call->reply, "ERR out of memory");
		return;
	}
	transaction->multi = call->client->command;
	call->client->transaction = transaction;
	resp_status(call->reply, "OK");
}

void command_discard(const struct call *call)
{
	if (!call->client->transaction) {
		resp_error(call->reply, "ERR DISCARD without MULTI");
		return;
	}
	client_end(call->client);
	resp_status(call->reply, "OK");
}

void command_exec(const struct call *call)
{
	struct service *service = call->service;
	struct transaction *transaction = call->client->transaction;
	const uint64_t stop_at = service->stop_at;

	if (!transaction) {
		resp_error(call->reply, "ERR EXEC without MULTI");
		return;
	}
	call->client->transaction = NULL;
	if (transaction->spoilt) {
		resp_error(call->reply, "EXECABORT Transaction discarded because of previous errors.");
	} else {
		/* A request about several keys does not wait for its next turn, either. */
		service->stop_at = UINT64_MAX;
		resp_array(call->reply, transaction->count);
		for (size_t i = 0; i < transaction->count; i++) {
			const struct queued *one = &transaction->queue[i];
			const struct call each = { one->command, service, call->client, one->request, call->reply };

			(void)run_request(&each);
		}
		service->stop_at = stop_at;
		/* Of the last of these requests, not of EXEC. */
		service->why = NULL;
	}
	free_transaction(transaction);
}

void command_watch(const struct call *call)
{
	resp_error(call->reply,
		   call->client->transaction
			   ? "ERR WATCH inside MULTI is not allowed"
			   : "ERR WATCH is not supported: the server does not note which keys change. MULTI "
			     "and EXEC work without it");
}
