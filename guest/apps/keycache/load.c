/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Throughput, by redis-benchmark: a program of others, over TLS, in this machine. For each sample it runs twice, with
 * `requests` and with twice as many. What they differ in is requests alone, without the program's start, the handshakes,
 * and its end: once it has sent its last request, redis-benchmark turns round and round until all are answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/app.h"
#include "cases.h"
#include "clients.h"
#include "server.h"

#define PROGRAM "/bin/redis-benchmark"
#define SHORT "short"
#define LONG "long"

#define INPUT SERVER_FOLDER "/input"
#define OUTPUT SERVER_FOLDER "/output"
#define ERRORS SERVER_FOLDER "/errors"

#define NONCE_BYTES 12
#define MOST_WORDS 12
#define NUMBER_BYTES 24
/* Columns of its CSV behind the test's name: requests per second, and milliseconds avg, min, p50, p95, p99, max. */
#define COLUMNS 7

/* What redis-benchmark is to send, and what each of those requests counts in INFO. */
struct load {
	const char *words[MOST_WORDS]; /* ended by NULL */
	const uint8_t *last;           /* of the request, which may be any bytes; NULL: it is among the words */
	size_t last_size;
	const char *counter;
	uint32_t each;
};

static const struct bench_plan *plan;
static char *text;
static char name[CLIENTS_NAME_BYTES];
static char nonce[NONCE_BYTES + 1];
static uint8_t *message;

static void write_input(const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(INPUT, "we");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		bench_fail(INPUT ": %s", strerror(errno));
}

static void redirect(const char *path, int flags, int to)
{
	int file = open(path, flags | O_CLOEXEC, 0600);

	if (file < 0 || dup2(file, to) != to)
		bench_fail("%s: %s", path, strerror(errno));
}

/* The end of a file, as a text. Returns how long it is: 0 if there is none. */
static size_t read_end(const char *path, char *end, size_t most)
{
	FILE *file = fopen(path, "re");
	size_t size = 0;

	if (file) {
		if (fseek(file, -(long)(most - 1), SEEK_END))
			rewind(file);
		size = fread(end, 1, most - 1, file);
		(void)fclose(file);
	}
	end[size] = '\0';
	return size;
}

/*
 * Runs it to its end. Who waits here sleeps, and may: as long as it runs either it or the server has something to do, and
 * if not, the case is refused for an idle processor.
 */
static void run(const struct load *load, uint32_t connections, uint32_t requests)
{
	char clients[NUMBER_BYTES];
	char count[NUMBER_BYTES];
	char said[200];
	const char *words[32 + MOST_WORDS] = {
		PROGRAM,        "-h",
		SERVER_ADDRESS, "-p",
		SERVER_PORT,    "--tls",
		"--cacert",     SERVER_FOLDER "/ca.crt",
		"--cert",       SERVER_FOLDER "/" SERVER_BROKER ".crt",
		"--key",        SERVER_FOLDER "/" SERVER_BROKER ".key",
		"-c",           clients,
		"-n",           count,
		"--csv",
	};
	const char *keys = bench_parameter(plan, "clients");
	char *const environment[] = { NULL };
	size_t at = 0;
	int status;
	pid_t child;

	(void)snprintf(clients, sizeof(clients), "%" PRIu32, connections);
	(void)snprintf(count, sizeof(count), "%" PRIu32, requests);
	while (words[at])
		at++;
	if (keys) {
		words[at++] = "-r";
		words[at++] = keys;
	}
	if (load->last)
		words[at++] = "-x";
	for (size_t i = 0; load->words[i]; i++)
		words[at++] = load->words[i];
	child = fork();
	if (child < 0)
		bench_fail("fork: %s", strerror(errno));
	if (!child) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		redirect(load->last ? INPUT : "/dev/null", O_RDONLY, STDIN_FILENO);
		redirect(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
		redirect(ERRORS, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
		/* The words are not written to: execve() has its type from before there was const. */
		(void)execve(PROGRAM, (char *const *)(uintptr_t)words, environment);
		bench_fail(PROGRAM ": %s", strerror(errno));
	}
	if (waitpid(child, &status, 0) != child)
		bench_fail("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail(PROGRAM " failed: status %#x, %.*s", (unsigned int)status,
			   (int)read_end(ERRORS, said, sizeof(said)), said);
}

/* Records what it said of its last run: requests per second, and the milliseconds behind. */
static void record_report(uint32_t index)
{
	char report[512];
	char detail[256];
	char what[64];
	char *columns[COLUMNS];
	size_t size = read_end(OUTPUT, report, sizeof(report));
	size_t found = COLUMNS;

	/* From the end: the test's name, in the first column, has the request's bytes in it. */
	while (size && found) {
		while (size && report[size - 1] != '"')
			size--;
		if (!size)
			break;
		report[--size] = '\0';
		while (size && report[size - 1] != '"')
			size--;
		columns[--found] = report + size;
		size -= size > 0;
	}
	if (found)
		bench_fail(PROGRAM " says what is no line of CSV");
	(void)snprintf(what, sizeof(what), "redis-benchmark %" PRIu32, index);
	(void)snprintf(detail, sizeof(detail), "avg %s, min %s, p50 %s, p95 %s, p99 %s, max %s ms", columns[1],
		       columns[2], columns[3], columns[4], columns[5], columns[6]);
	app_outcome(what, columns[0], detail);
}

/* A message for REENCRYPT. redis-benchmark takes but the last word from a file: the nonce must be a word without a zero. */
static void seal(struct keycache *broker, size_t bytes, struct load *load)
{
	size_t size;

	do {
		size = bytes + KEYCACHE_OVERHEAD;
		clients_name(0, name);
		server_must(keycache_seal(broker, name, text, bytes, message, &size), broker, "SEAL", 0);
	} while (memchr(message, 0, NONCE_BYTES));
	clients_check(0, message, size, text, bytes);
	memcpy(nonce, message, NONCE_BYTES);
	load->last = message + NONCE_BYTES;
	load->last_size = size - NONCE_BYTES;
}

/* Where a use of a key is counted under the case's policy. */
static const char *counter(void)
{
	const char *policy = bench_parameter(plan, "policy");

	if (policy && !strcmp(policy, "naive"))
		return "slow_reads";
	return policy && !strcmp(policy, "none") ? "record_opens" : "hits";
}

static struct load make_load(struct keycache *broker, const char *action, size_t bytes)
{
	const char *client = bench_parameter(plan, "clients") ? CLIENTS_PREFIX "__rand_int__" : name;
	struct load load = { .counter = counter(), .each = 1 };

	text = malloc(bytes + 1);
	message = malloc(bytes + KEYCACHE_OVERHEAD);
	if (!text || !message)
		bench_fail("no memory for a text of %zu bytes", bytes);
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	clients_name(0, name);
	if (!strcmp(action, "ping")) {
		load = (struct load){ .words = { "PING", text }, .counter = "total_commands_processed", .each = 1 };
	} else if (!strcmp(action, "seal")) {
		load.words[0] = "SEAL";
		load.words[1] = client;
		load.words[2] = text;
	} else if (!strcmp(action, "reencrypt")) {
		seal(broker, bytes, &load);
		load.words[0] = "REENCRYPT";
		load.words[1] = name;
		load.words[2] = client;
		load.words[3] = nonce;
		load.each = 2;
	} else {
		bench_fail("unknown action: %s", action);
	}
	return load;
}

/* Sets the keys, and uses each once: of a policy that keeps keys, all are kept then. */
static void prepare(struct keycache *admin, struct keycache *broker, uint32_t clients)
{
	char used[CLIENTS_NAME_BYTES];
	uint8_t sealed[KEYCACHE_OVERHEAD + 1];

	clients_set(admin, clients, SHORT);
	for (uint32_t client = 0; client < clients; client++) {
		size_t size = sizeof(sealed);

		clients_name(client, used);
		server_must(keycache_seal(broker, used, "x", 1, sealed, &size), broker, "SEAL", client);
		clients_check(client, sealed, size, "x", 1);
	}
}

void load_case(const struct bench_plan *given)
{
	const char *action = bench_parameter(given, "action");
	size_t bytes = bench_parameter_bytes(given, "size", 0);
	uint32_t connections = (uint32_t)bench_parameter_bytes(given, "connections", 1);
	uint32_t requests = (uint32_t)bench_parameter_bytes(given, "requests", 0);
	uint32_t clients = (uint32_t)bench_parameter_bytes(given, "clients", 1);
	struct bench_overhead overhead = bench_calibrate_place(CLIENT_PLACE);
	struct keycache *admin;
	struct keycache *broker;
	struct load load;

	plan = given;
	if (!action)
		bench_fail("no action is named");
	server_prepare(NULL, NULL);
	server_start(plan, NULL, NULL);
	admin = server_connect(SERVER_ADMIN);
	broker = server_connect(SERVER_BROKER);
	prepare(admin, broker, clients);
	load = make_load(broker, action, bytes);
	if (load.last)
		write_input(load.last, load.last_size);

	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		uint64_t before = server_count(admin, load.counter);
		struct bench_span few;
		struct bench_span many;
		uint64_t counted;

		few.begin = bench_region_begin();
		run(&load, connections, requests);
		few.end = bench_region_end();
		many.begin = bench_region_begin();
		run(&load, connections, 2 * requests);
		many.end = bench_region_end();
		counted = server_count(admin, load.counter) - before;
		/* What else there was: the INFO before, if commands are counted, and what redis-benchmark asks of a Redis. */
		if (!strcmp(load.counter, "total_commands_processed"))
			counted -= 1 + 2 * 2;
		if (counted != (uint64_t)load.each * 3 * requests)
			bench_fail("call %" PRIu32 ": INFO counts %" PRIu64 " of %s instead of %" PRIu64, index,
				   counted, load.counter, (uint64_t)load.each * 3 * requests);
		bench_record_sample(plan, SHORT, CLIENT_PLACE, index, few, overhead.count, 0);
		bench_record_sample(plan, LONG, CLIENT_PLACE, index, many, overhead.count, 0);
		record_report(index);
	}
	bench_record_check("requests-counted", LONG, 1);
	keycache_close(broker);
	keycache_close(admin);
	server_stop();
	free(message);
	free(text);
}
