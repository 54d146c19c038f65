/* SPDX-License-Identifier: BSD-2-Clause */
/* The network of the echo servers and the client that measures them. */
#ifndef WORLDWISE_ECHO_NET_H
#define WORLDWISE_ECHO_NET_H

#include "../../bench/bench.h"

/* The echo protocol's own. */
#define NET_PORT 7

/* Messages that the client sends without waiting for an answer, in one sample of the measure `stream`. */
#define NET_STREAM_MESSAGES 32

/* The case's bytes of a message. Ends the program if a server could not take it. */
size_t net_message_bytes(const struct bench_plan *plan);

/* How many messages a case sends: of each call one round trip and one stream. */
uint32_t net_messages(const struct bench_plan *plan);

/* Brings the loopback interface up. */
void net_loopback_up(void);

/* Brings the network card up, with the address that the emulator's user network forwards to. */
void net_card_up(void);

/* A listening socket: on loopback alone, or on every interface. */
int net_listen(int loopback_alone);

/* The next connection, or a new one over loopback. Nothing waits in it for more to be sent (TCP_NODELAY). */
int net_accept(int listener);
int net_connect(void);

/*
 * Echoes messages of `size` bytes until the peer closes: receives each into `in`, calls `handle`, and sends `out`. Without
 * `handle` they are the same buffer. Returns how many it was.
 */
uint32_t net_serve(int connection, size_t size, uint8_t *in, const uint8_t *out, void (*handle)(void));

/* Runs `serve`, which returns how many messages it echoed, in a process of its own; net_measure_end() waits for it. */
void net_fork(uint32_t (*serve)(void));

/*
 * Measures round trips and streams over a connection to an echo server, and records them for `place`.
 *
 * With `acknowledged`, a client that waits for more acknowledges what it has got. A server that cannot set TCP_NODELAY
 * needs it: what it sends waits until all before it is acknowledged, which Linux puts off by 40 ms in case data going
 * the other way could take it along.
 */
void net_measure(const struct bench_plan *plan, const char *place, int connection, int acknowledged);

/* Closes the measured connection, and checks that the server ended well after as many messages as were sent. */
void net_measure_end(const struct bench_plan *plan, int connection);

/* Records that the server can be reached from the host, whose client waits for it. */
void net_ready(void);

/*
 * Records the end of a case whose client is on the host, and ends the program. Nothing is counted in such a case: a
 * server that waits for the host leaves the processor idle.
 */
_Noreturn void net_served(uint32_t messages, size_t size);

#endif /* WORLDWISE_ECHO_NET_H */
