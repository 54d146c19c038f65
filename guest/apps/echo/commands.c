/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's commands, for the operation `abuse`. */
#include "../common/abuse.h"
#include "echo.h"
#include "net.h"

#define BYTES 100

static const struct abuse_command commands[] = {
	{ .name = "MESSAGE",
	  .command = ECHO_MESSAGE,
	  .params = { ABUSE_IN(BYTES, 1, ECHO_MAX_BYTES), ABUSE_OUT(BYTES, BYTES, ABUSE_NO_LIMIT) } },
	/* No interface is up: a connection that is allowed comes to nothing, at once. */
	{ .name = "SERVE",
	  .command = ECHO_SERVE,
	  .params = { ABUSE_VALUE_IN(NET_PORT, ECHO_PEER_LOOPBACK), ABUSE_VALUE_IN(BYTES, 1), ABUSE_VALUE_OUT },
	  .right = TEEC_ERROR_COMMUNICATION,
	  .values = { { 0, 0, ECHO_PEER_LOOPBACK, TEEC_ERROR_BAD_PARAMETERS },
		      { 0, UINT16_MAX + 1, ECHO_PEER_LOOPBACK, TEEC_ERROR_BAD_PARAMETERS },
		      { 0, NET_PORT, ECHO_PEER_HOST + 1, TEEC_ERROR_BAD_PARAMETERS },
		      { 1, 0, 1, TEEC_ERROR_BAD_PARAMETERS },
		      { 1, ECHO_MAX_BYTES + 1, 1, TEEC_ERROR_BAD_PARAMETERS },
		      { 1, BYTES, 0, TEEC_ERROR_BAD_PARAMETERS } } },
	{ .name = "CALIBRATE", .command = ECHO_CALIBRATE, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
};

const struct abuse_table app_abuse = { .commands = commands, .count = sizeof(commands) / sizeof(commands[0]) };
