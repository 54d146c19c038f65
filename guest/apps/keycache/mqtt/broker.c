/* SPDX-License-Identifier: BSD-2-Clause */
#include "broker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../measured/measured.h"
#include "../server.h"
#include "peer.h"

#define CONFIGURATION SERVER_FOLDER "/mosquitto.conf"

static pid_t broker;

/*
 * Nagle's algorithm would keep parts of long packets back until the rest is acknowledged, with the processor idle. What is sent
 * in $SYS, what is saved, and a line in the log for each client would be work that no message asks for.
 */
static void configure(bool plugin)
{
	FILE *file = fopen(CONFIGURATION, "we");

	if (!file || fprintf(file,
			     "listener %d " SERVER_ADDRESS "\n"
			     "cafile " SERVER_FOLDER "/ca.crt\n"
			     "certfile " SERVER_FOLDER "/server.crt\n"
			     "keyfile " SERVER_FOLDER "/server.key\n"
			     "require_certificate true\n"
			     "use_identity_as_username true\n"
			     "use_username_as_clientid true\n"
			     "set_tcp_nodelay true\n"
			     "sys_interval 0\n"
			     "persistence false\n"
			     "log_dest stderr\n"
			     "log_type error\n"
			     "log_type warning\n"
			     "user root\n",
			     BROKER_PORT) < 0)
		bench_fail(CONFIGURATION ": %s", strerror(errno));
	if (plugin && fputs("plugin " MEASURED_PLUGIN "\n"
			    "plugin_opt_cafile " SERVER_FOLDER "/ca.crt\n"
			    "plugin_opt_certfile " SERVER_FOLDER "/" SERVER_BROKER ".crt\n"
			    "plugin_opt_keyfile " SERVER_FOLDER "/" SERVER_BROKER ".key\n"
			    /* Of virtual time: reading secure storage for each receiver takes long. */
			    "plugin_opt_keycache_timeout 60000\n",
			    file) < 0)
		bench_fail(CONFIGURATION ": %s", strerror(errno));
	if (fclose(file))
		bench_fail(CONFIGURATION ": %s", strerror(errno));
}

void broker_start(bool plugin)
{
	const char *const words[] = { MEASURED_BROKER, "-c", CONFIGURATION, NULL };
	int reached;

	configure(plugin);
	broker = server_child(MEASURED_BROKER, words, MEASURED_BROKER_ENVIRONMENT, -1);
	while ((reached = peer_reach()) < 0) {
		if (waitpid(broker, NULL, WNOHANG))
			bench_fail(MEASURED_BROKER " ended as it began");
		(void)sched_yield();
	}
	close(reached);
}

void broker_stop(void)
{
	int status;

	server_settle();
	if (kill(broker, SIGTERM) || waitpid(broker, &status, 0) != broker)
		bench_fail(MEASURED_BROKER ": %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail(MEASURED_BROKER " failed as it ended: status %#x", (unsigned int)status);
}
