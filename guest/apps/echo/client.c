/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two echo servers with a TA: one that hands each message to it (call), and one that is the TA itself (socket). Their
 * client is in another process of the same machine, or on the host.
 */
#include <string.h>

#include "../common/app.h"
#include "echo.h"
#include "net.h"

#define ON_HOST "echo-host"

static struct {
	size_t size;
	int listener;
	TEEC_SharedMemory in;
	TEEC_SharedMemory out;
	uint32_t messages; /* handed to the TA */
	uint32_t due;      /* by the case */
} own;

/* Each process that calls the TA has a session of its own. */
static void open_own_session(void)
{
	app_must(TEEC_InitializeContext(NULL, &app_context), "the server's context", 0);
	app_must(app_open(&app_session), "the server's session", 0);
}

static void close_own_session(void)
{
	TEEC_CloseSession(&app_session);
	TEEC_FinalizeContext(&app_context);
}

/* One call of the TA for each message, which stands in shared memory from the socket on. */
static void message_to_ta(void)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_PARTIAL_INPUT, TEEC_MEMREF_PARTIAL_OUTPUT,
							     TEEC_NONE, TEEC_NONE) };

	op.params[0].memref = (TEEC_RegisteredMemoryReference){ .parent = &own.in, .size = own.size };
	op.params[1].memref = (TEEC_RegisteredMemoryReference){ .parent = &own.out, .size = own.size };
	app_must(TEEC_InvokeCommand(&app_session, ECHO_MESSAGE, &op, NULL), "message", own.messages++);
	if (op.params[1].memref.size != own.size)
		bench_fail("the TA returned %zu bytes of %zu", op.params[1].memref.size, own.size);
}

static uint32_t serve_by_calls(void)
{
	uint32_t messages;

	own.in = (TEEC_SharedMemory){ .size = own.size, .flags = TEEC_MEM_INPUT };
	own.out = (TEEC_SharedMemory){ .size = own.size, .flags = TEEC_MEM_OUTPUT };
	app_must(TEEC_AllocateSharedMemory(&app_context, &own.in), "shared memory", 0);
	app_must(TEEC_AllocateSharedMemory(&app_context, &own.out), "shared memory", 1);
	messages = net_serve(net_accept(own.listener), own.size, own.in.buffer, own.out.buffer, message_to_ta);
	TEEC_ReleaseSharedMemory(&own.in);
	TEEC_ReleaseSharedMemory(&own.out);
	return messages;
}

static uint32_t serve_by_socket(uint32_t peer)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT,
							     TEEC_NONE) };

	op.params[0].value = (TEEC_Value){ .a = NET_PORT, .b = peer };
	op.params[1].value = (TEEC_Value){ .a = (uint32_t)own.size, .b = own.due };
	app_must(TEEC_InvokeCommand(&app_session, ECHO_SERVE, &op, NULL), "serve", peer);
	return op.params[2].value.a;
}

static uint32_t call_process(void)
{
	uint32_t messages;

	open_own_session();
	messages = serve_by_calls();
	close_own_session();
	return messages;
}

static uint32_t socket_process(void)
{
	uint32_t messages;

	open_own_session();
	messages = serve_by_socket(ECHO_PEER_LOOPBACK);
	close_own_session();
	return messages;
}

static void serve_host(int ta_has_socket)
{
	net_card_up();
	if (!ta_has_socket)
		own.listener = net_listen(0);
	net_ready();
	net_served(ta_has_socket ? serve_by_socket(ECHO_PEER_HOST) : serve_by_calls(), own.size);
}

static void run(const struct bench_plan *plan)
{
	const char *server = bench_parameter(plan, "server");
	int ta_has_socket = server && !strcmp(server, "socket");
	int connection;

	if (!ta_has_socket && (!server || strcmp(server, "call")))
		bench_fail("unknown server: %s", server ? server : "none");
	own.size = net_message_bytes(plan);
	own.due = net_messages(plan);
	if (!strcmp(plan->operation, ON_HOST))
		serve_host(ta_has_socket);
	net_loopback_up();
	own.listener = net_listen(1);
	net_fork(ta_has_socket ? socket_process : call_process);
	connection = ta_has_socket ? net_accept(own.listener) : net_connect();
	net_measure(plan, CLIENT_PLACE, connection, ta_has_socket);
	net_measure_end(plan, connection);
}

const struct app app = { .uuid = ECHO_TA_UUID, .calibrate = ECHO_CALIBRATE, .run = run };
