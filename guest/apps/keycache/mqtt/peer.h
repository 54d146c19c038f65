/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of the broker: as much of MQTT 3.1.1, over TLS, as publishing and receiving take. Every function ends the program with
 * an error record if the broker does not answer as it must.
 */
#ifndef WORLDWISE_APPS_KEYCACHE_MQTT_PEER_H
#define WORLDWISE_APPS_KEYCACHE_MQTT_PEER_H

#include <stddef.h>
#include <stdint.h>

struct peer;

/* Packets that a broker sends. */
enum peer_packet {
	PEER_CONNACK = 2,
	PEER_PUBLISH = 3,
	PEER_PUBACK = 4,
	PEER_PUBREC = 5,
	PEER_PUBREL = 6,
	PEER_PUBCOMP = 7,
	PEER_SUBACK = 9
};

/* A connection to the broker without a client, or -1 if nobody listens. */
int peer_reach(void);

/* Connects by the certificate of this name, which is the client's id as well. `room`: bytes of the longest packet. */
struct peer *peer_connect(const char *name, size_t room);

/* Says goodbye. */
void peer_close(struct peer *peer);

void peer_subscribe(struct peer *peer, const char *topic, unsigned int qos);

/* `id` is not sent with QoS 0. */
void peer_publish(struct peer *peer, const char *topic, unsigned int qos, uint16_t id, const void *payload,
		  size_t size);

/* An answer that has nothing but the id of the message that it is about. */
void peer_answer(struct peer *peer, enum peer_packet packet, uint16_t id);

/* Waits for such an answer. Returns the id. */
uint16_t peer_await(struct peer *peer, enum peer_packet packet);

/* Waits for a message, whose payload must have `size` bytes and is copied. Returns its id, 0 with QoS 0. */
uint16_t peer_receive(struct peer *peer, const char *topic, unsigned int qos, void *payload, size_t size);

#endif /* WORLDWISE_APPS_KEYCACHE_MQTT_PEER_H */
