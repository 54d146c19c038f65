/* SPDX-License-Identifier: BSD-2-Clause */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../bench/bench.h"
#include "../server.h"
#include "broker.h"

/* MQTT's own: types of packets that a client sends, and flags of some. */
#define CONNECT 0x10
#define PUBLISH 0x30
#define PUBREL_FLAGS 0x02
#define SUBSCRIBE 0x82
#define DISCONNECT 0xe0
#define CLEAN_SESSION 0x02
/* The longest head of a packet: its type and four bytes of length. */
#define HEAD_BYTES 5

struct peer {
	SSL_CTX *context;
	SSL *tls;
	int socket;
	uint8_t *packet; /* the last one: without its head when it came, with it as it goes */
	size_t room;
};

static _Noreturn void fail(const char *what)
{
	bench_fail("MQTT: %s", what);
}

static void put(struct peer *peer, const void *bytes, size_t size)
{
	if (SSL_write(peer->tls, bytes, (int)size) != (int)size)
		fail("the broker takes nothing any more");
}

static void take(struct peer *peer, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	while (size) {
		int got = SSL_read(peer->tls, at, (int)size);

		if (got <= 0)
			fail("the broker has closed the connection");
		at += got;
		size -= (size_t)got;
	}
}

/* Reads a packet; its body is in peer->packet. Returns the first byte of its head. */
static uint8_t take_packet(struct peer *peer, size_t *size)
{
	uint8_t first;
	uint8_t digit;
	unsigned int shift = 0;

	take(peer, &first, 1);
	*size = 0;
	do {
		take(peer, &digit, 1);
		*size |= (size_t)(digit & 0x7f) << shift;
		shift += 7;
	} while (digit & 0x80 && shift < 28);
	if (*size > peer->room)
		fail("a packet is longer than any that was sent");
	take(peer, peer->packet, *size);
	return first;
}

static void expect(struct peer *peer, enum peer_packet packet, size_t size)
{
	size_t got;
	uint8_t first = take_packet(peer, &got);

	if (first >> 4 != (uint8_t)packet || got != size)
		bench_fail("MQTT: packet %#x of %zu bytes came, %d of %zu was due", first, got, (int)packet, size);
}

/* Where a packet's body begins: there is room before it for the head, which is put there last. */
static uint8_t *body(struct peer *peer)
{
	return peer->packet + HEAD_BYTES;
}

/* Sends the packet whose body ends at `end`. */
static void put_packet(struct peer *peer, uint8_t first, const uint8_t *end)
{
	size_t size = (size_t)(end - body(peer));
	uint8_t head[HEAD_BYTES] = { first };
	size_t used = 1;

	do {
		head[used] = size & 0x7f;
		size >>= 7;
		head[used++] |= size ? 0x80 : 0;
	} while (size);
	memcpy(body(peer) - used, head, used);
	put(peer, body(peer) - used, (size_t)(end - body(peer)) + used);
}

static uint8_t *add_number(uint8_t *at, uint16_t number)
{
	*at++ = (uint8_t)(number >> 8);
	*at++ = (uint8_t)number;
	return at;
}

static uint8_t *add_text(uint8_t *at, const char *text)
{
	uint16_t length = (uint16_t)strlen(text);

	at = add_number(at, length);
	memcpy(at, text, length);
	return at + length;
}

static uint16_t number_at(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static SSL_CTX *make_context(const char *name)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	char certificate[120];
	char key[120];

	(void)snprintf(certificate, sizeof(certificate), SERVER_FOLDER "/%s.crt", name);
	(void)snprintf(key, sizeof(key), SERVER_FOLDER "/%s.key", name);
	if (!context || SSL_CTX_load_verify_locations(context, SERVER_FOLDER "/ca.crt", NULL) != 1 ||
	    SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		fail("a certificate cannot be used");
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	return context;
}

int peer_reach(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(BROKER_PORT) };
	int on = 1;
	int number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (number < 0 || setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		bench_fail("socket: %s", strerror(errno));
	if (connect(number, (const struct sockaddr *)&address, sizeof(address))) {
		close(number);
		return -1;
	}
	return number;
}

struct peer *peer_connect(const char *name, size_t room)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	uint8_t *at;

	if (!peer)
		fail("no memory for a client");
	peer->room = room;
	peer->packet = malloc(room + HEAD_BYTES);
	peer->context = make_context(name);
	peer->tls = SSL_new(peer->context);
	peer->socket = peer_reach();
	if (!peer->packet || !peer->tls || peer->socket < 0 || SSL_set_fd(peer->tls, peer->socket) != 1 ||
	    SSL_connect(peer->tls) != 1)
		bench_fail("MQTT: %s cannot connect", name);
	at = add_text(body(peer), "MQTT");
	*at++ = 4;
	*at++ = CLEAN_SESSION;
	at = add_number(at, 0);
	at = add_text(at, name);
	put_packet(peer, CONNECT, at);
	expect(peer, PEER_CONNACK, 2);
	if (peer->packet[1])
		bench_fail("MQTT: %s is refused: %u", name, (unsigned int)peer->packet[1]);
	return peer;
}

void peer_close(struct peer *peer)
{
	put_packet(peer, DISCONNECT, body(peer));
	SSL_free(peer->tls);
	SSL_CTX_free(peer->context);
	close(peer->socket);
	free(peer->packet);
	free(peer);
}

void peer_subscribe(struct peer *peer, const char *topic, unsigned int qos)
{
	uint8_t *at = add_text(add_number(body(peer), 1), topic);

	*at++ = (uint8_t)qos;
	put_packet(peer, SUBSCRIBE, at);
	expect(peer, PEER_SUBACK, 3);
	if (peer->packet[2] != qos)
		fail("a subscription is refused");
}

void peer_publish(struct peer *peer, const char *topic, unsigned int qos, uint16_t id, const void *payload, size_t size)
{
	uint8_t *at = add_text(body(peer), topic);

	if (qos)
		at = add_number(at, id);
	memcpy(at, payload, size);
	put_packet(peer, (uint8_t)(PUBLISH | qos << 1), at + size);
}

void peer_answer(struct peer *peer, enum peer_packet packet, uint16_t id)
{
	put_packet(peer, (uint8_t)(packet << 4 | (packet == PEER_PUBREL ? PUBREL_FLAGS : 0)),
		   add_number(body(peer), id));
}

uint16_t peer_await(struct peer *peer, enum peer_packet packet)
{
	expect(peer, packet, 2);
	return number_at(peer->packet);
}

uint16_t peer_receive(struct peer *peer, const char *topic, unsigned int qos, void *payload, size_t size)
{
	size_t before = 2 + strlen(topic) + (qos ? 2 : 0);

	expect(peer, PEER_PUBLISH, before + size);
	if (memcmp(peer->packet + 2, topic, strlen(topic)) != 0)
		fail("a message is of another topic");
	memcpy(payload, peer->packet + before, size);
	return qos ? number_at(peer->packet + before - 2) : 0;
}
