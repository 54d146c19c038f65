/* SPDX-License-Identifier: BSD-2-Clause */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../echo/net.h"

#define TOOL "/bin/keycache"

/* What it says when it does. */
#define LISTENING "listening on"

#define MAX_NAMES 80
#define MAX_OPTIONS 40

/* Far more than a server takes to get back to waiting. */
#define SETTLE_TURNS 500

static const char *program = "/sbin/keycached";
static pid_t server;
/* Where its messages come from: they are passed on to the console. */
static int messages = -1;

static int must(int result, const char *what)
{
	if (result < 0)
		bench_fail("%s: %s", what, strerror(errno));
	return result;
}

void server_must(enum keycache_error error, const struct keycache *handle, const char *what, uint32_t index)
{
	if (error)
		bench_fail("%s %u failed: %s", what, (unsigned int)index, keycache_text(handle));
}

void server_settle(void)
{
	for (int turn = 0; turn < SETTLE_TURNS; turn++)
		(void)sched_yield();
}

pid_t server_child(const char *path, const char *const *words, const char *environment, int output)
{
	const char *const around[] = { environment, NULL };
	pid_t child = must(fork(), "fork");

	if (child)
		return child;
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
	if (output >= 0) {
		must(dup2(output, STDOUT_FILENO), "dup2");
		must(dup2(output, STDERR_FILENO), "dup2");
	}
	/* The words are not written to: execve() has its type from before there was const. */
	(void)execve(path, (char *const *)(uintptr_t)words, (char *const *)(uintptr_t)around);
	bench_fail("%s: %s", path, strerror(errno));
}

/* Asleep, which is no idle processor: the child works until it ends. */
static int wait_for_end(pid_t child)
{
	int status;

	must(waitpid(child, &status, 0), "waitpid");
	return status;
}

void server_write_acl(const char *acl)
{
	FILE *file = fopen(SERVER_FOLDER "/acl", "we");

	if (!file || fputs(acl, file) < 0 || fclose(file))
		bench_fail(SERVER_FOLDER "/acl: %s", strerror(errno));
}

void server_prepare(const char *const *names, const char *acl)
{
	const char *words[MAX_NAMES + 5] = { TOOL, "demo-ca", SERVER_FOLDER, SERVER_BROKER };
	size_t count = 4;
	int status;

	net_loopback_up();
	for (size_t i = 0; names && names[i]; i++) {
		if (i == MAX_NAMES)
			bench_fail("more than %d clients with a certificate", MAX_NAMES);
		words[count++] = names[i];
	}
	status = wait_for_end(server_child(TOOL, words, NULL, -1));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail(TOOL " demo-ca failed: status %#x", (unsigned int)status);
	server_write_acl(acl ? acl : SERVER_ACL);
}

static void add(const char **words, size_t *count, const char *word)
{
	if (*count == MAX_OPTIONS)
		bench_fail("more options for %s than there is room for", program);
	words[(*count)++] = word;
}

static void add_parameter(const char **words, size_t *count, const char *option, const char *value)
{
	if (!value)
		return;
	add(words, count, option);
	add(words, count, value);
}

void server_program(const char *path)
{
	program = path;
}

void server_launch(const struct bench_plan *plan, const char *const *options, const char *environment)
{
	const char *words[MAX_OPTIONS + 1] = { program };
	const char *policy = bench_parameter(plan, "policy");
	size_t count = 1;
	int ends[2];

	if (server)
		bench_fail("%s runs already", program);
	add_parameter(words, &count, "--tls-cert", SERVER_FOLDER "/server.crt");
	add_parameter(words, &count, "--tls-key", SERVER_FOLDER "/server.key");
	add_parameter(words, &count, "--tls-ca", SERVER_FOLDER "/ca.crt");
	add_parameter(words, &count, "--acl", SERVER_FOLDER "/acl");
	add_parameter(words, &count, "--storage", bench_parameter(plan, "storage"));
	if (policy && !strcmp(policy, "naive"))
		add(words, &count, "--naive");
	else
		add_parameter(words, &count, "--policy", policy);
	while (options && *options)
		add(words, &count, *options++);
	must(pipe2(ends, O_CLOEXEC), "pipe");
	server = server_child(program, words, environment, ends[1]);
	close(ends[1]);
	messages = ends[0];
}

enum keycache_error server_try(struct keycache **handle, const char *name)
{
	char certificate[120];
	char key[120];
	const struct keycache_address address = {
		.host = SERVER_ADDRESS,
		.port = SERVER_PORT,
		.ca = SERVER_FOLDER "/ca.crt",
		.cert = certificate,
		.key = key,
		/* Of virtual time, which is instructions: the first request may have to wait for all of secure storage. */
		.timeout_ms = 600000,
	};

	(void)snprintf(certificate, sizeof(certificate), SERVER_FOLDER "/%s.crt", name);
	(void)snprintf(key, sizeof(key), SERVER_FOLDER "/%s.key", name);
	return keycache_connect(handle, &address);
}

struct keycache *server_connect(const char *name)
{
	struct keycache *handle;

	server_must(server_try(&handle, name), handle, name, 0);
	return handle;
}

/*
 * Passes on what the server has said, or waits until it says something. Returns whether there will be more. The text is ended
 * by a zero.
 */
static bool pass_on(char *text, size_t size)
{
	ssize_t length = read(messages, text, size - 1);

	if (length <= 0) {
		text[0] = '\0';
		return length < 0 && errno == EAGAIN;
	}
	text[length] = '\0';
	(void)fputs(text, stderr);
	return true;
}

void server_wait(void)
{
	char text[1024];
	size_t used = 0;

	/* Asleep meanwhile: who gave the processor away and took it again at once would hold the TA's helper up each time. */
	text[0] = '\0';
	while (!strstr(text, LISTENING)) {
		if (used + 1 >= sizeof(text) || !pass_on(text + used, sizeof(text) - used))
			bench_fail("%s ended as it began: %s", program, text);
		used += strlen(text + used);
	}
	must(fcntl(messages, F_SETFL, O_NONBLOCK), "pipe");
	keycache_close(server_connect(SERVER_ADMIN));
}

/* Its last words, once it has ended. */
static int clean_up(void)
{
	char text[1024];
	int status = wait_for_end(server);

	server = 0;
	while (pass_on(text, sizeof(text)) && *text)
		;
	close(messages);
	return status;
}

void server_start(const struct bench_plan *plan, const char *const *options, const char *environment)
{
	server_launch(plan, options, environment);
	server_wait();
}

pid_t server_pid(void)
{
	return server;
}

void server_stop(void)
{
	int status;

	server_settle();
	must(kill(server, SIGTERM), "SIGTERM");
	status = clean_up();
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail("%s failed as it ended: status %#x", program, (unsigned int)status);
}

void server_kill(int signal)
{
	must(kill(server, signal), "kill");
	(void)clean_up();
}

static uint64_t find_count(const char *text, const char *field)
{
	size_t length = strlen(field);
	unsigned long long value;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, field, length) && sscanf(line + length, ":%llu", &value) == 1)
			return value;
	}
	bench_fail("INFO does not tell '%s'", field);
}

void server_counts(struct keycache *admin, const char *const *fields, uint64_t *values, size_t count)
{
	char *text;

	server_must(keycache_info(admin, &text), admin, "INFO", 0);
	for (size_t i = 0; i < count; i++)
		values[i] = find_count(text, fields[i]);
	free(text);
}

uint64_t server_count(struct keycache *admin, const char *field)
{
	uint64_t value;

	server_counts(admin, &field, &value, 1);
	return value;
}
