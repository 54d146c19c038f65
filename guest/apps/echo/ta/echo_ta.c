/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA of the echo servers: it gives a message back, or is the server itself. */
#include <tee_tcpsocket.h>

#include "echo.h"
#include "stateless_ta.h"

static TEE_Result message(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	size_t size = params[0].memref.size;

	(void)session;
	if (!params[0].memref.buffer || !size || size > ECHO_MAX_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	if (params[1].memref.size < size) {
		params[1].memref.size = size;
		return TEE_ERROR_SHORT_BUFFER;
	}
	if (!params[1].memref.buffer)
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(params[1].memref.buffer, params[0].memref.buffer, size);
	params[1].memref.size = size;
	return TEE_SUCCESS;
}

/* Receives a whole message, or nothing at all if the peer has closed: `*got` is then 0. */
static TEE_Result receive(TEE_iSocketHandle socket, uint8_t *buffer, uint32_t size, uint32_t *got)
{
	TEE_Result res;

	for (*got = 0; *got < size;) {
		uint32_t length = size - *got;

		res = TEE_tcpSocket->recv(socket, buffer + *got, &length, ECHO_PATIENCE_MS);
		if (res)
			return res;
		/* The length comes from the normal world. */
		if (length > size - *got)
			return TEE_ERROR_COMMUNICATION;
		if (!length)
			return *got ? TEE_ISOCKET_ERROR_REMOTE_CLOSED : TEE_SUCCESS;
		*got += length;
	}
	return TEE_SUCCESS;
}

static TEE_Result send(TEE_iSocketHandle socket, const uint8_t *buffer, uint32_t size)
{
	for (uint32_t sent = 0; sent < size;) {
		uint32_t length = size - sent;
		TEE_Result res = TEE_tcpSocket->send(socket, buffer + sent, &length, ECHO_PATIENCE_MS);

		if (res)
			return res;
		if (!length || length > size - sent)
			return TEE_ERROR_COMMUNICATION;
		sent += length;
	}
	return TEE_SUCCESS;
}

static TEE_Result serve(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	static char peers[][12] = { [ECHO_PEER_LOOPBACK] = "127.0.0.1", [ECHO_PEER_HOST] = "10.0.2.100" };
	uint32_t port = params[0].value.a;
	uint32_t peer = params[0].value.b;
	uint32_t size = params[1].value.a;
	uint32_t most = params[1].value.b;
	TEE_tcpSocket_Setup setup = { .ipVersion = TEE_IP_VERSION_4 };
	TEE_iSocketHandle socket;
	uint32_t problem;
	uint32_t messages = 0;
	uint32_t got = 0;
	uint8_t *buffer;
	TEE_Result res;

	(void)session;
	params[2].value.a = 0;
	params[2].value.b = 0;
	if (!port || port > UINT16_MAX || peer >= sizeof(peers) / sizeof(peers[0]) || !size || size > ECHO_MAX_BYTES ||
	    !most)
		return TEE_ERROR_BAD_PARAMETERS;
	buffer = TEE_Malloc(size, TEE_MALLOC_FILL_ZERO);
	if (!buffer)
		return TEE_ERROR_OUT_OF_MEMORY;
	setup.server_addr = peers[peer];
	setup.server_port = (uint16_t)port;
	res = TEE_tcpSocket->open(&socket, &setup, &problem);
	if (res) {
		TEE_Free(buffer);
		return res;
	}
	while (messages < most) {
		res = receive(socket, buffer, size, &got);
		if (res || !got)
			break;
		res = send(socket, buffer, size);
		if (res)
			break;
		messages++;
	}
	TEE_tcpSocket->close(socket);
	TEE_Free(buffer);
	params[2].value.a = messages;
	return res;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[ECHO_MESSAGE] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, NONE, NONE), message },
		[ECHO_SERVE] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_OUT, NONE), serve },
		[ECHO_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
