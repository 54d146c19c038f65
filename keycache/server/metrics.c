/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"

#define BACKLOG 16

/* A connection, or the place for one. */
struct visitor {
	uv_tcp_t tcp;
	uv_write_t write;
	uv_shutdown_t shutdown;
	struct metrics *metrics;
	struct buffer reply;
	uint64_t begin; /* ms */
	size_t size;
	bool taken;
	bool answered;
	char request[METRICS_REQUEST_BYTES];
};

struct metrics {
	uv_loop_t *loop;
	uv_tcp_t listener;
	struct service *service;
	bool waiting; /* somebody does, for a place */
	bool stopping;
	struct visitor visitors[METRICS_CONNECTIONS];
};

static void on_connection(uv_stream_t *listener, int status);

static void on_closed(uv_handle_t *handle)
{
	struct visitor *one = handle->data;
	struct metrics *metrics = one->metrics;

	buffer_free(&one->reply);
	one->taken = false;
	if (!metrics->waiting || metrics->stopping)
		return;
	metrics->waiting = false;
	on_connection((uv_stream_t *)&metrics->listener, 0);
}

static void close_visitor(struct visitor *one)
{
	if (!uv_is_closing((uv_handle_t *)&one->tcp))
		uv_close((uv_handle_t *)&one->tcp, on_closed);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	(void)request;
	(void)status;
}

/* Behind the answer comes an end, and then what the other side may still send is read to nowhere: a reset could take the answer along. */
static void on_written(uv_write_t *request, int status)
{
	struct visitor *one = request->handle->data;

	if (status < 0 || uv_shutdown(&one->shutdown, (uv_stream_t *)&one->tcp, on_shutdown))
		close_visitor(one);
}

static void answer(struct visitor *one, const char *status, const char *more, const struct buffer *body)
{
	const char *type = body->size ? "text/plain; version=0.0.4; charset=utf-8" : "text/plain";
	uv_buf_t buffer;

	one->answered = true;
	buffer_format(&one->reply,
		      "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n", status,
		      type, body->size, more);
	buffer_append(&one->reply, body->data, body->size);
	if (one->reply.failed || body->failed) {
		close_visitor(one);
		return;
	}
	buffer = uv_buf_init((char *)one->reply.data, (unsigned)one->reply.size);
	if (uv_write(&one->write, (uv_stream_t *)&one->tcp, &buffer, 1, on_written))
		close_visitor(one);
}

/* `GET /metrics HTTP/1.1`, and lines that are of no interest. */
static void answer_request(struct visitor *one)
{
	static const char path[] = "/metrics";
	struct buffer body = { 0 };
	struct figures figures;
	char *end = strstr(one->request, "\r\n");
	char *target = memchr(one->request, ' ', (size_t)(end - one->request));
	char *version = target ? memchr(target + 1, ' ', (size_t)(end - target - 1)) : NULL;

	if (!version || version == target + 1 || target == one->request || strncmp(version, " HTTP/1.", 8) != 0 ||
	    end - version != 9 || target[1] != '/') {
		answer(one, "400 Bad Request", "", &body);
		return;
	}
	*version = 0;
	if (strcspn(target + 1, "?") != strlen(path) || strncmp(target + 1, path, strlen(path)) != 0) {
		answer(one, "404 Not Found", "", &body);
	} else if (target - one->request != 3 || strncmp(one->request, "GET", 3) != 0) {
		answer(one, "405 Method Not Allowed", "Allow: GET\r\n", &body);
	} else {
		figures_take(one->metrics->service, &figures);
		figures_metrics(one->metrics->service, &figures, &body);
		answer(one, "200 OK", "", &body);
	}
	buffer_free(&body);
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct visitor *one = handle->data;

	(void)suggested;
	/* One byte remains for the text's end. What comes after the answer is read, and nobody looks at it. */
	if (one->answered)
		one->size = 0;
	*buffer = uv_buf_init(one->request + one->size, (unsigned)(sizeof(one->request) - 1 - one->size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	const struct buffer nothing = { 0 };
	struct visitor *one = stream->data;

	(void)buffer;
	if (size < 0) {
		close_visitor(one);
		return;
	}
	if (one->answered)
		return;
	one->size += (size_t)size;
	one->request[one->size] = 0;
	/* A zero in it is the end of nothing. */
	if (strlen(one->request) != one->size)
		answer(one, "400 Bad Request", "", &nothing);
	else if (strstr(one->request, "\r\n\r\n"))
		answer_request(one);
	else if (one->size == sizeof(one->request) - 1)
		answer(one, "400 Bad Request", "", &nothing);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct metrics *metrics = listener->data;
	struct visitor *one = metrics->visitors;

	if (status < 0)
		return;
	while (one < metrics->visitors + METRICS_CONNECTIONS && one->taken)
		one++;
	/* libuv tells of no other connection before this one is accepted. */
	if (one == metrics->visitors + METRICS_CONNECTIONS || uv_tcp_init(metrics->loop, &one->tcp)) {
		metrics->waiting = true;
		return;
	}
	one->tcp.data = one;
	one->metrics = metrics;
	one->taken = true;
	one->answered = false;
	one->size = 0;
	one->begin = uv_now(metrics->loop);
	if (uv_accept(listener, (uv_stream_t *)&one->tcp) ||
	    uv_read_start((uv_stream_t *)&one->tcp, give_buffer, on_read))
		close_visitor(one);
}

static void on_never_listened(uv_handle_t *handle)
{
	free(handle->data);
}

struct metrics *metrics_start(uv_loop_t *loop, unsigned *port, struct service *service)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct sockaddr_in address;
	int size = sizeof(address);
	int result;

	if (!metrics)
		return NULL;
	metrics->loop = loop;
	metrics->service = service;
	result = uv_tcp_init(loop, &metrics->listener);
	if (result) {
		free(metrics);
		return NULL;
	}
	metrics->listener.data = metrics;
	(void)uv_ip4_addr("127.0.0.1", (int)*port, &address);
	result = uv_tcp_bind(&metrics->listener, (struct sockaddr *)&address, 0);
	if (!result)
		result = uv_listen((uv_stream_t *)&metrics->listener, BACKLOG, on_connection);
	if (!result)
		result = uv_tcp_getsockname(&metrics->listener, (struct sockaddr *)&address, &size);
	if (result) {
		(void)fprintf(stderr, "keycached: --metrics %u: %s\n", *port, uv_strerror(result));
		uv_close((uv_handle_t *)&metrics->listener, on_never_listened);
		return NULL;
	}
	*port = ntohs(address.sin_port);
	return metrics;
}

void metrics_tick(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (struct visitor *one = metrics->visitors; one < metrics->visitors + METRICS_CONNECTIONS; one++)
		if (one->taken && uv_now(metrics->loop) - one->begin >= METRICS_SECONDS * 1000)
			close_visitor(one);
}

void metrics_stop(struct metrics *metrics)
{
	if (!metrics)
		return;
	metrics->stopping = true;
	uv_close((uv_handle_t *)&metrics->listener, NULL);
	for (struct visitor *one = metrics->visitors; one < metrics->visitors + METRICS_CONNECTIONS; one++)
		if (one->taken)
			close_visitor(one);
}

void metrics_free(struct metrics *metrics)
{
	free(metrics);
}
