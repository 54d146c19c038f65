/* SPDX-License-Identifier: BSD-2-Clause */
#include "resp.h"

#include <hiredis/alloc.h>
#include <hiredis/hiredis.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#if HIREDIS_MAJOR < 1
#error "hiredis 1.0 or later is needed: older ones read requests into memory that cannot be wiped"
#endif

struct resp {
	redisReader *reader;
	size_t dirty; /* bytes of the reader's buffer that have something in them */
	size_t max_request;
	const char *problem;
};

/*
 * hiredis copies what it reads, keys among it, and frees it as it is. So it gets memory that is wiped before it is given back,
 * and never moved by realloc(), which leaves behind what was there.
 */

static void free_wiped(void *memory)
{
	if (memory)
		OPENSSL_cleanse(memory, malloc_usable_size(memory));
	free(memory);
}

static void *realloc_wiped(void *memory, size_t size)
{
	size_t old = memory ? malloc_usable_size(memory) : 0;
	void *new;

	if (memory && size <= old)
		return memory;
	new = malloc(size);
	if (!new)
		return NULL;
	if (memory)
		memcpy(new, memory, old);
	free_wiped(memory);
	return new;
}

static hiredisAllocFuncs wiping = {
	.mallocFn = malloc,
	.callocFn = calloc,
	.reallocFn = realloc_wiped,
	.strdupFn = strdup,
	.freeFn = free_wiped,
};

static const char not_bulk[] = "ERR Protocol error: a request is an array of bulk strings";
static const char too_large[] = "ERR Protocol error: the request is larger than --max-request allows";

/* What these answer is the request or the place of an argument in it; NULL makes the reader stop with an error. */

static void *refuse(const redisReadTask *task, const char *problem)
{
	struct resp *resp = task->privdata;

	if (!resp->problem)
		resp->problem = problem;
	return NULL;
}

static void *create_array(const redisReadTask *task, size_t elements)
{
	struct resp_request *request;

	if (task->parent || task->type != REDIS_REPLY_ARRAY)
		return refuse(task, not_bulk);
	/* The reader has looked at maxelements. */
	request = calloc(1, sizeof(*request) + elements * sizeof(request->arguments[0]));
	if (!request)
		return refuse(task, "ERR out of memory");
	request->count = elements;
	return request;
}

static void *create_string(const redisReadTask *task, char *text, size_t size)
{
	struct resp *resp = task->privdata;
	struct resp_request *request;
	struct resp_argument *argument;

	if (!task->parent || task->type != REDIS_REPLY_STRING)
		return refuse(task, not_bulk);
	/* hiredis reads them and does not look. */
	if (text[size] != '\r' || text[size + 1] != '\n')
		return refuse(task, "ERR Protocol error: a bulk string does not end where it says");
	request = task->parent->obj;
	if (size > resp->max_request - request->bytes)
		return refuse(task, too_large);
	argument = &request->arguments[task->idx];
	argument->data = malloc(size + 1);
	if (!argument->data)
		return refuse(task, "ERR out of memory");
	memcpy(argument->data, text, size);
	argument->data[size] = 0;
	argument->size = size;
	request->bytes += size;
	return argument;
}

static void *create_integer(const redisReadTask *task, long long value)
{
	(void)value;
	return refuse(task, not_bulk);
}

static void *create_double(const redisReadTask *task, double value, char *text, size_t size)
{
	(void)value;
	(void)text;
	(void)size;
	return refuse(task, not_bulk);
}

static void *create_nil(const redisReadTask *task)
{
	return refuse(task, not_bulk);
}

static void *create_bool(const redisReadTask *task, int value)
{
	(void)value;
	return refuse(task, not_bulk);
}

/* The reader frees only what stands at the top: the request. */
static void free_object(void *object)
{
	resp_request_free(object);
}

static redisReplyObjectFunctions functions = {
	.createString = create_string,
	.createArray = create_array,
	.createInteger = create_integer,
	.createDouble = create_double,
	.createNil = create_nil,
	.createBool = create_bool,
	.freeObject = free_object,
};

struct resp *resp_new(size_t max_request)
{
	struct resp *resp = calloc(1, sizeof(*resp));

	if (!resp)
		return NULL;
	(void)hiredisSetAllocators(&wiping);
	resp->max_request = max_request;
	resp->reader = redisReaderCreateWithFunctions(&functions);
	if (!resp->reader) {
		free(resp);
		return NULL;
	}
	resp->reader->privdata = resp;
	resp->reader->maxelements = RESP_ELEMENTS;
	return resp;
}

void resp_free(struct resp *resp)
{
	if (!resp)
		return;
	redisReaderFree(resp->reader);
	free(resp);
}

static enum resp_state failed(struct resp *resp, const char *problem)
{
	if (!resp->problem)
		resp->problem = problem;
	return RESP_ERROR;
}

enum resp_state resp_feed(struct resp *resp, const void *data, size_t size)
{
	if (resp->problem)
		return RESP_ERROR;
	if (redisReaderFeed(resp->reader, data, size))
		return failed(resp, "ERR out of memory");
	if (resp->dirty < resp->reader->len)
		resp->dirty = resp->reader->len;
	return RESP_MORE;
}

/*
 * Whether a bulk string is on its way that the request has no room for: hiredis would take in all of it first. It has read the
 * dollar sign; what stands next are the digits.
 */
static bool announces_too_much(const struct resp *resp)
{
	const redisReader *reader = resp->reader;
	const struct resp_request *request;
	size_t size = 0;

	if (reader->ridx < 1 || reader->task[reader->ridx]->type != REDIS_REPLY_STRING)
		return false;
	request = reader->task[0]->obj;
	for (size_t at = reader->pos; at < reader->len && size <= resp->max_request; at++) {
		char one = reader->buf[at];

		if (one < '0' || one > '9')
			return one == '\r' && size > resp->max_request - request->bytes;
		size = size * 10 + (size_t)(one - '0');
	}
	return size > resp->max_request;
}

/* What was read stays in the reader's buffer until something else comes: of no use, but for who gets hold of the memory. */
static void wipe_consumed(struct resp *resp)
{
	if (resp->reader->pos != resp->reader->len || !resp->dirty)
		return;
	OPENSSL_cleanse(resp->reader->buf, resp->dirty);
	resp->dirty = 0;
}

enum resp_state resp_next(struct resp *resp, struct resp_request **request)
{
	redisReader *reader = resp->reader;
	void *got = NULL;

	*request = NULL;
	for (;;) {
		if (resp->problem)
			return RESP_ERROR;
		/* Between requests: seen here, a line that never ends is not collected first. */
		if (reader->ridx == -1 && reader->pos < reader->len && reader->buf[reader->pos] != '*')
			return failed(resp, not_bulk);
		if (redisReaderGetReply(reader, &got)) {
			if (reader->err == REDIS_ERR_PROTOCOL && !resp->problem)
				return failed(resp, "ERR Protocol error: not RESP, or too many elements");
			return failed(resp, "ERR Protocol error");
		}
		if (!got) {
			/* A bulk string's bytes wait in the reader until they are complete, and so does a line without an end. */
			if (announces_too_much(resp) || reader->len - reader->pos > resp->max_request)
				return failed(resp, too_large);
			wipe_consumed(resp);
			return RESP_MORE;
		}
		*request = got;
		if ((*request)->count)
			return RESP_REQUEST;
		/* Redis passes over an empty array, too. */
		resp_request_free(got);
		*request = NULL;
		got = NULL;
	}
}

const char *resp_problem(const struct resp *resp)
{
	return resp->problem ? resp->problem : "ERR Protocol error";
}

void resp_request_free(struct resp_request *request)
{
	if (!request)
		return;
	for (size_t i = 0; i < request->count; i++)
		OPENSSL_clear_free(request->arguments[i].data, request->arguments[i].size);
	free(request);
}

void resp_bulk(struct buffer *reply, const void *data, size_t size)
{
	buffer_format(reply, "$%zu\r\n", size);
	buffer_append(reply, data, size);
	buffer_text(reply, "\r\n");
}

void resp_bulk_text(struct buffer *reply, const char *text)
{
	resp_bulk(reply, text, strlen(text));
}

void resp_nil(struct buffer *reply, bool resp3)
{
	buffer_text(reply, resp3 ? "_\r\n" : "$-1\r\n");
}

void resp_map(struct buffer *reply, bool resp3, size_t count)
{
	if (resp3)
		buffer_format(reply, "%%%zu\r\n", count);
	else
		resp_array(reply, 2 * count);
}

void resp_verbatim(struct buffer *reply, bool resp3, const void *text, size_t size)
{
	static const char format[] = "txt:";

	if (!resp3) {
		resp_bulk(reply, text, size);
		return;
	}
	buffer_format(reply, "=%zu\r\n", size + strlen(format));
	buffer_text(reply, format);
	buffer_append(reply, text, size);
	buffer_text(reply, "\r\n");
}

void resp_integer(struct buffer *reply, long long value)
{
	buffer_format(reply, ":%lld\r\n", value);
}

void resp_array(struct buffer *reply, size_t count)
{
	buffer_format(reply, "*%zu\r\n", count);
}

/* A reply of one line must stay one: what came from a client may hold anything. */
static void line(struct buffer *reply, char first, const char *text)
{
	char one;

	buffer_append(reply, &first, 1);
	for (; *text; text++) {
		one = (char)(*text < ' ' || *text > '~' ? '.' : *text);
		buffer_append(reply, &one, 1);
	}
	buffer_text(reply, "\r\n");
}

void resp_error(struct buffer *reply, const char *text)
{
	line(reply, '-', text);
}

void resp_status(struct buffer *reply, const char *text)
{
	line(reply, '+', text);
}
