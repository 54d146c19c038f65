/* SPDX-License-Identifier: BSD-2-Clause */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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

/* Seconds after which a case that waits for a message is given up: an alarm costs the measured path nothing. */
#define PATIENCE 300

static pid_t server;
/* How many messages the server echoed, where its client can see it. */
static volatile uint32_t *echoed;

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
	alarm(PATIENCE);
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
		if (echoed)
			*echoed = messages + 1;
	}
	close(connection);
	return messages;
}

void net_fork(void (*serve)(void))
{
	echoed = mmap(NULL, sizeof(*echoed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (echoed == MAP_FAILED)
		bench_fail("mmap: %s", strerror(errno));
	server = must(fork(), "fork");
	if (server)
		return;
	/* A case that fails must not leave it behind. */
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
	serve();
	_exit(0);
}
