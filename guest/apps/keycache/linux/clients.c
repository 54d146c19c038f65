/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that only take room: idle ones, and clients that are slow to send, to read, or to begin. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../server.h"
#include "campaign.h"
#include "scene.h"

#define IDLE 1000u
#define CLIENTS 4u

static int connect_plain(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(SERVER_PORT)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, SERVER_ADDRESS, &address.sin_addr) != 1 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		bench_fail("a connection: %s", strerror(errno));
	return fd;
}

/* One context for all, or its making would be most of what they cost. */
static SSL *connect_tls(void)
{
	static SSL_CTX *context;
	SSL *ssl;

	if (!context) {
		context = SSL_CTX_new(TLS_client_method());
		if (!context || SSL_CTX_load_verify_locations(context, SERVER_FOLDER "/ca.crt", NULL) != 1 ||
		    SSL_CTX_use_certificate_file(context, SERVER_FOLDER "/" SERVER_BROKER ".crt", SSL_FILETYPE_PEM) !=
			    1 ||
		    SSL_CTX_use_PrivateKey_file(context, SERVER_FOLDER "/" SERVER_BROKER ".key", SSL_FILETYPE_PEM) != 1)
			bench_fail("the certificates cannot be used");
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	}
	ssl = SSL_new(context);
	if (!ssl || SSL_set_fd(ssl, connect_plain()) != 1 || SSL_connect(ssl) != 1)
		bench_fail("a handshake fails");
	return ssl;
}

static void disconnect(SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	SSL_free(ssl);
	close(fd);
}

static bool answers(SSL *ssl)
{
	static const char ping[] = "*1\r\n$4\r\nPING\r\n";
	char reply[16];

	return SSL_write(ssl, ping, sizeof(ping) - 1) == sizeof(ping) - 1 && SSL_read(ssl, reply, sizeof(reply)) == 7 &&
	       !memcmp(reply, "+PONG\r\n", 7);
}

/* What the server has in memory, in KiB. */
static unsigned long resident(void)
{
	char path[64];
	unsigned long pages = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)server_pid());
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		bench_fail("%s cannot be read", path);
	(void)fclose(f);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static void make_room(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		bench_fail("getrlimit: %s", strerror(errno));
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < IDLE + 100)
		bench_fail("%llu files are too few", (unsigned long long)limit.rlim_cur);
}

static void idle(struct scene *scene)
{
	static SSL *clients[IDLE];
	unsigned long before;
	unsigned int alive = 0;

	make_room();
	scene_start(scene, "--max-clients", "1100");
	scene_fill(scene, CLIENTS);
	before = resident();
	for (unsigned int i = 0; i < IDLE; i++) {
		clients[i] = connect_tls();
		if (i % 50 == 0)
			campaign_progress();
	}
	scene_check(scene, CLIENTS);
	for (uint32_t client = 0; client < CLIENTS; client++)
		if (scene_set(scene, client))
			scene_wrong(scene, "error", "a SET meanwhile: %s", keycache_text(scene->admin));
	scene_say(scene, "%u connections; the server has %lu KiB for each",
		  (unsigned int)server_count(scene->admin, "connected_clients"), (resident() - before) / IDLE);
	/* Within --idle-timeout. */
	(void)sleep(200);
	for (unsigned int i = 0; i < IDLE; i += 100)
		alive += answers(clients[i]);
	if (alive != IDLE / 100)
		scene_wrong(scene, "error", "of %u idle ones asked %u answer", IDLE / 100, alive);
	scene_check(scene, CLIENTS);
	for (unsigned int i = 0; i < IDLE; i++)
		disconnect(clients[i]);
	scene_say(scene, "keys are set and got meanwhile; those that are asked after 200 s answer");
	scene_stop(scene);
}

/* --- slow and half-open --- */

#define EACH 20u
/* Long enough for every limit of the server: for a handshake 10 s, for a reply that is not taken 30 s. */
#define SECONDS 40

static void slow(struct scene *scene)
{
	static const char begin[] = "*3\r\n$4\r\nSEAL\r\n$11\r\nclient-0000\r\n$60000\r\n";
	static const char bytes[60000 + 2] = { [60000] = '\r', [60001] = '\n' };
	int silent[EACH];
	int drops[EACH];
	SSL *half[EACH];
	SSL *deaf;
	unsigned long before;
	unsigned int sent = 0;

	scene_start(scene, "--idle-timeout", "5");
	scene_fill(scene, CLIENTS);
	before = resident();
	for (unsigned int i = 0; i < EACH; i++) {
		silent[i] = connect_plain();
		drops[i] = connect_plain();
		half[i] = connect_tls();
		if (SSL_write(half[i], begin, (int)(i + 1)) != (int)(i + 1))
			bench_fail("a part of a request cannot be sent");
	}
	/* Asks, and takes no reply. */
	deaf = connect_tls();
	if (fcntl(SSL_get_fd(deaf), F_SETFL, O_NONBLOCK))
		bench_fail("fcntl: %s", strerror(errno));
	while (sent < 1000 && SSL_write(deaf, begin, sizeof(begin) - 1) > 0 &&
	       SSL_write(deaf, bytes, sizeof(bytes)) > 0)
		sent++;
	scene_say(scene, "who takes no reply can ask %u times for 60,000 bytes", sent);
	for (unsigned int second = 0; second < SECONDS; second++) {
		/* A byte at a time of what could be the begin of a handshake. */
		static const uint8_t hello[] = { 0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03 };

		campaign_progress();
		for (unsigned int i = 0; i < EACH && second < sizeof(hello); i++)
			(void)!write(drops[i], &hello[second], 1);
		scene_check(scene, CLIENTS);
		if (scene_set(scene, second % CLIENTS))
			scene_wrong(scene, "error", "a SET meanwhile: %s", keycache_text(scene->admin));
		(void)sleep(1);
	}
	scene_say(scene,
		  "%u that say nothing, %u that drip, %u with half a request, 1 that is deaf: after %d s %u are closed",
		  EACH, EACH, EACH, SECONDS, (unsigned int)server_count(scene->admin, "timed_out_connections"));
	if (server_count(scene->admin, "timed_out_connections") != 3 * EACH + 1)
		scene_wrong(scene, "error", "that is not all");
	scene_say(scene, "others are served meanwhile; the server has %ld KiB more", (long)resident() - (long)before);
	for (unsigned int i = 0; i < EACH; i++) {
		close(silent[i]);
		close(drops[i]);
		disconnect(half[i]);
	}
	disconnect(deaf);
	scene_stop(scene);
}

const struct attempt client_attempts[] = {
	{ "idle-1000", idle },
	{ "slow-clients", slow },
	{ NULL, NULL },
};
