/* SPDX-License-Identifier: BSD-2-Clause */
/* What the echo TA and its client agree on. */
#ifndef WORLDWISE_ECHO_H
#define WORLDWISE_ECHO_H

#define ECHO_TA_UUID { 0xa1f5c2de, 0x0007, 0x4b1c, { 0x9a, 0x3e, 0x65, 0x63, 0x68, 0x6f, 0x00, 0x00 } }

enum echo_command {
	/* [0] memref in: a message; [1] memref out: the same. */
	ECHO_MESSAGE = 0,

	/*
	 * Connects by GlobalPlatform's TEE Sockets, which cannot listen, and echoes messages: as many as it is told, or
	 * fewer if the peer closes before. (That the host closes is not told to a guest that connected to it.)
	 * [0] value in a: port, b: one of echo_peer; [1] value in a: bytes of a message, b: messages; [2] value out a:
	 * messages echoed.
	 */
	ECHO_SERVE,

	/* [0] value out: what an empty region costs in the TA; [1] value out: what an inner region adds to an outer. */
	ECHO_CALIBRATE,
};

/* Whom the TA may connect to. */
enum echo_peer {
	ECHO_PEER_LOOPBACK,
	ECHO_PEER_HOST,
};

#define ECHO_MAX_BYTES (64 * 1024)

/* How long the TA waits for its peer. */
#define ECHO_PATIENCE_MS 20000

#endif /* WORLDWISE_ECHO_H */
