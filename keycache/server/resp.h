/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RESP2 and what RESP3 has beside it: requests (which are the same in both) by hiredis' reader, replies by hand.
 *
 * hiredis reads what a server answers, which is more than a client may ask: here a request is an array of bulk strings and
 * nothing else, no deeper than that, of at most RESP_ELEMENTS and of a size that the caller bounds. Inline commands ("PING"
 * typed into a terminal) are refused: they come to a TLS port only by mistake.
 */
#ifndef KEYCACHE_RESP_H
#define KEYCACHE_RESP_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

#define RESP_ELEMENTS 1024

struct resp_argument {
	uint8_t *data; /* ended by a zero that does not count */
	size_t size;
};

struct resp_request {
	size_t count;
	size_t bytes;
	struct resp_argument arguments[];
};

struct resp;

enum resp_state { RESP_REQUEST, RESP_MORE, RESP_ERROR };

struct resp *resp_new(size_t max_request);
void resp_free(struct resp *resp);
enum resp_state resp_feed(struct resp *resp, const void *data, size_t size);
/* The next request; the caller gives it back by resp_request_free. After RESP_ERROR the connection is of no use. */
enum resp_state resp_next(struct resp *resp, struct resp_request **request);
/* What was wrong, as the text of an error reply. */
const char *resp_problem(const struct resp *resp);
void resp_request_free(struct resp_request *request);

void resp_bulk(struct buffer *reply, const void *data, size_t size);
void resp_bulk_text(struct buffer *reply, const char *text);
/* Where the two protocols differ, RESP2 has an array in place of a map, and a bulk string in place of a text. */
void resp_nil(struct buffer *reply, bool resp3);
void resp_map(struct buffer *reply, bool resp3, size_t count);
void resp_verbatim(struct buffer *reply, bool resp3, const void *text, size_t size);
void resp_integer(struct buffer *reply, long long value);
void resp_array(struct buffer *reply, size_t count);
/* The text begins with the code: "ERR ...". */
void resp_error(struct buffer *reply, const char *text);
void resp_status(struct buffer *reply, const char *text);

#endif /* KEYCACHE_RESP_H */
