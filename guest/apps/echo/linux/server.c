/* SPDX-License-Identifier: BSD-2-Clause */
/* The echo server without a TEE, and its client in another process of the same machine. */
#include <string.h>

#include "../../../linux/idle.h"
#include "../../../linux/load.h"
#include "../echo.h"
#include "../net.h"

static struct {
	size_t size;
	int listener;
	uint8_t message[ECHO_MAX_BYTES];
} own;

static uint32_t serve(void)
{
	return net_serve(net_accept(own.listener), own.size, own.message, own.message, NULL);
}

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("linux-bench", IMPLEMENTATION, argc, argv);
	uint64_t idle = idle_entries();
	int connection;

	load_start(&plan);
	own.size = net_message_bytes(&plan);
	if (!strcmp(plan.operation, "echo-host")) {
		net_card_up();
		own.listener = net_listen(0);
		net_ready();
		net_served(serve(), own.size);
	}
	net_loopback_up();
	own.listener = net_listen(1);
	net_fork(serve);
	connection = net_connect();
	net_measure(&plan, "linux", connection, 0);
	net_measure_end(&plan, connection);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
