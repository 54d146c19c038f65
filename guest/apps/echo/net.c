/* SPDX-License-Identifier: BSD-2-Clause */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../bench/record.h"
#include "echo.h"

#define CARD "eth0"
#define CARD_ADDRESS "10.0.2.15"
#define CARD_MASK "255.255.255.0"

/* Seconds after which a client that waits for an answer gives up: an alarm costs the measured path nothing. */
#define PATIENCE 300

/* Far more than a server takes to get back to waiting. */
#define SETTLE_TURNS 500

static pid_t server;
static int acknowledges;
/* Where the server says how many messages it echoed. */
static uint32_t *echoed;

static int must(int result, const char *what)
{
	if (result < 0)
		bench_fail("%s: %s", what, strerror(errno));
	return result;
}

size_t net_message_bytes(const struct bench_plan *plan)
{
	size_t size = bench_parameter_bytes(plan, "size", 0);

	if (!size || size > ECHO_MAX_BYTES)
		bench_fail("a message must have 1 to %d bytes", ECHO_MAX_BYTES);
	return size;
}

uint32_t net_messages(const struct bench_plan *plan)
{
	return bench_calls(plan) * (1 + NET_STREAM_MESSAGES);
}

static struct sockaddr_in address_of(const char *text, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		bench_fail("%s is no address", text);
	return address;
}

static void set_address(int fd, struct ifreq *request, unsigned long what, const char *text)
{
	struct sockaddr_in address = address_of(text, 0);

	memcpy(&request->ifr_addr, &address, sizeof(address));
	must(ioctl(fd, what, request), text);
}

static void interface_up(const char *name, const char *address, const char *mask)
{
	struct ifreq request = { .ifr_flags = 0 };
	int fd = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (address) {
		set_address(fd, &request, SIOCSIFADDR, address);
		set_address(fd, &request, SIOCSIFNETMASK, mask);
	}
	must(ioctl(fd, SIOCGIFFLAGS, &request), name);
	request.ifr_flags |= IFF_UP | IFF_RUNNING;
	must(ioctl(fd, SIOCSIFFLAGS, &request), name);
	close(fd);
}

void net_loopback_up(void)
{
	interface_up("lo", NULL, NULL);
}

void net_card_up(void)
{
	interface_up(CARD, CARD_ADDRESS, CARD_MASK);
}

int net_listen(int loopback_alone)
{
	struct sockaddr_in address = address_of(loopback_alone ? "127.0.0.1" : "0.0.0.0", NET_PORT);
	int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	must(bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
	must(listen(fd, 4), "listen");
	return fd;
}

static int at_once(int fd)
{
	int yes = 1;

	must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)), "TCP_NODELAY");
	return fd;
}

int net_accept(int listener)
{
	return at_once(must(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept"));
}

int net_connect(void)
{
	struct sockaddr_in address = address_of("127.0.0.1", NET_PORT);
	int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	must(connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
	return at_once(fd);
}

static void send_all(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		size_t length = (size_t)must((int)send(fd, data, size, MSG_NOSIGNAL), "send");

		data += length;
		size -= length;
	}
}

/* Receives all of a message, or nothing if the peer has closed before. Returns whether there was one. */
static int receive_all(int fd, uint8_t *data, size_t size)
{
	for (size_t got = 0; got < size;) {
		size_t length = (size_t)must((int)recv(fd, data + got, size - got, 0), "recv");

		if (!length && !got)
			return 0;
		if (!length)
			bench_fail("the peer closed within a message");
		got += length;
	}
	return 1;
}

uint32_t net_serve(int connection, size_t size, uint8_t *in, const uint8_t *out, void (*handle)(void))
{
	uint32_t messages = 0;

	for (; receive_all(connection, in, size); messages++) {
		if (handle)
			handle();
		send_all(connection, out, size);
	}
	close(connection);
	return messages;
}

void net_fork(uint32_t (*serve)(void))
{
	echoed = mmap(NULL, sizeof(*echoed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (echoed == MAP_FAILED)
		bench_fail("mmap: %s", strerror(errno));
	server = must(fork(), "fork");
	if (server)
		return;
	/* A case that fails must not leave it behind. */
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
	*echoed = serve();
	_exit(0);
}

/* Acknowledges what has come, if the server needs it: see net_measure(). */
static void acknowledge(int fd)
{
	int yes = 1;

	if (acknowledges)
		must(setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof(yes)), "TCP_QUICKACK");
}

static void round_trip(int fd, const uint8_t *out, uint8_t *in, size_t size)
{
	send_all(fd, out, size);
	for (size_t got = 0; got < size;) {
		size_t length = (size_t)must((int)recv(fd, in + got, size - got, 0), "recv");

		if (!length)
			bench_fail("the server closed the connection");
		got += length;
		if (got < size)
			acknowledge(fd);
	}
}

/* Sends a message whenever there is room and takes whatever comes back, until all of it is there. */
static void stream(int fd, const uint8_t *out, uint8_t *in, size_t size)
{
	size_t total = size * NET_STREAM_MESSAGES;
	size_t sent = 0;
	size_t got = 0;

	while (got < total) {
		struct pollfd ready = { .fd = fd, .events = sent < total ? POLLIN | POLLOUT : POLLIN };

		must(poll(&ready, 1, -1), "poll");
		if (sent < total && ready.revents & POLLOUT) {
			ssize_t length = send(fd, out + sent, size - sent % size, MSG_DONTWAIT | MSG_NOSIGNAL);

			if (length < 0 && errno != EAGAIN)
				bench_fail("send: %s", strerror(errno));
			sent += length > 0 ? (size_t)length : 0;
		}
		if (ready.revents & (POLLIN | POLLHUP | POLLERR)) {
			size_t length = (size_t)must((int)recv(fd, in + got, total - got, MSG_DONTWAIT), "recv");

			if (!length)
				bench_fail("the server closed the connection");
			got += length;
			if (got < total)
				acknowledge(fd);
		}
	}
}

/* Bytes that differ from one message to the next, and from call to call. */
static void make_messages(uint8_t *data, size_t size, uint32_t index)
{
	uint32_t state = index * 2654435761U + 1;

	for (size_t at = 0; at < size; at++) {
		state = state * 1664525U + 1013904223U;
		data[at] = (uint8_t)(state >> 24);
	}
}

static void check(const uint8_t *out, const uint8_t *in, size_t size, const char *measure, uint32_t index)
{
	if (memcmp(out, in, size))
		bench_fail("%s %u: what came back is not what was sent", measure, (unsigned int)index);
}

/*
 * Lets the server do what it still has to after its last answer, until it waits for the next message. A client that slept
 * for it would leave the processor idle.
 */
static void settle(void)
{
	for (int turn = 0; turn < SETTLE_TURNS; turn++)
		(void)sched_yield();
}

void net_measure(const struct bench_plan *plan, const char *place, int connection, int acknowledged)
{
	struct bench_overhead overhead = bench_calibrate_place(place);
	size_t size = net_message_bytes(plan);
	size_t total = size * NET_STREAM_MESSAGES;
	uint8_t *out = malloc(total);
	uint8_t *in = malloc(total);

	acknowledges = acknowledged;
	if (!out || !in)
		bench_fail("no memory for the messages");
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct bench_span span;

		alarm(PATIENCE);
		make_messages(out, total, index);
		memset(in, 0, total);
		settle();
		span.begin = bench_region_begin();
		round_trip(connection, out, in, size);
		span.end = bench_region_end();
		check(out, in, size, "round-trip", index);
		bench_record_sample(plan, "round-trip", place, index, span, overhead.count, 0);

		memset(in, 0, total);
		settle();
		span.begin = bench_region_begin();
		stream(connection, out, in, size);
		span.end = bench_region_end();
		check(out, in, total, "stream", index);
		bench_record_sample(plan, "stream", place, index, span, overhead.count, 0);
	}
	alarm(0);
	free(out);
	free(in);
}

void net_measure_end(const struct bench_plan *plan, int connection)
{
	int status;

	close(connection);
	if (waitpid(server, &status, 0) != server || !WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail("the server failed");
	if (*echoed != net_messages(plan))
		bench_fail("the server echoed %u messages", (unsigned int)*echoed);
	bench_record_check("messages-echoed", "round-trip", 1);
	bench_record_check("messages-echoed", "stream", 1);
}

static void outcome(const char *result, const char *detail)
{
	record_begin("outcome");
	record_text("what", "server for the host");
	record_text("result", result);
	record_text("detail", detail);
	record_end();
}

void net_ready(void)
{
	outcome("ready", "");
}

_Noreturn void net_served(uint32_t messages, size_t size)
{
	char detail[80];

	(void)snprintf(detail, sizeof(detail), "%u messages of %zu bytes", (unsigned int)messages, size);
	outcome(messages ? "served" : "nothing", detail);
	exit(bench_finish(0));
}
