/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One machine's part of a campaign. The host (src/worldwise/families/keycache/campaign.py) starts as many machines as it
 * takes, each from the same saved state, and tells each by its arguments what to do; STORAGE is a case's parameter,
 * `storage=ree`.
 *
 *   cut-write STORAGE [durability=relaxed] [stream=versions]
 *                                 SETs and DELs in a region; the host has what tee-supplicant and the server store, and
 *                                 what was acknowledged. stream=versions: KEEPs and FORGETs, too, and relays beside them
 *   cut-read STORAGE [stream=versions]
 *                                 puts back what the host has, and says which keys there are then, and which were kept
 *   hold STORAGE attempt=WHAT     one attack on the key cache; see hold.c
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../bench/record.h"
#include "../../../bench/semihost.h"
#include "../server.h"
#include "campaign.h"

/* How long a TA that starts anew is waited for: 20 s of virtual time. */
#define AGAIN_TURNS 200
#define AGAIN_US 100000

const char *const campaign_options[] = { "--allow-get", "--shadow", SHADOW_FOLDER, NULL };

void client_name(char name[CLIENT_NAME], uint32_t client)
{
	(void)snprintf(name, CLIENT_NAME, "client-%04u", (unsigned int)client);
}

size_t client_key(uint8_t key[KEY_MOST], uint32_t client, uint32_t number)
{
	uint32_t state = client * 65537u + number;

	for (size_t i = 0; i < KEY_MOST; i++) {
		state = state * 1664525u + 1013904223u;
		key[i] = (uint8_t)(state >> 24);
	}
	return number % 2 ? 32 : 16;
}

uint32_t key_of(struct keycache *broker, uint32_t client, uint32_t most)
{
	char name[CLIENT_NAME];
	uint8_t found[KEY_MOST];
	uint8_t known[KEY_MOST];
	size_t size = sizeof(found);
	enum keycache_error error;

	client_name(name, client);
	error = keycache_get(broker, name, found, &size);
	for (int turn = 0; error == KEYCACHE_AGAIN && turn < AGAIN_TURNS; turn++) {
		(void)usleep(AGAIN_US);
		size = sizeof(found);
		error = keycache_get(broker, name, found, &size);
	}
	if (error)
		return error == KEYCACHE_NO_SUCH_KEY ? KEY_NONE : KEY_ERROR;
	for (uint32_t number = most; number; number--)
		if (client_key(known, client, number) == size && !memcmp(known, found, size))
			return number;
	return KEY_OTHER;
}

void campaign_outcome(const char *what, const char *result, const char *detail)
{
	record_begin("outcome");
	record_text("what", what);
	record_text("result", result);
	record_text("detail", detail);
	record_end();
}

void campaign_progress(void)
{
	campaign_outcome("progress", "alive", "");
}

void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
		bench_fail("%s cannot be written", path);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const struct bench_plan *plan);
	} steps[] = { { "cut-write", cut_write }, { "cut-read", cut_read }, { "hold", hold } };
	struct bench_plan plan = { .program = "optee-campaign", .operation = argc > 1 ? argv[1] : "" };
	size_t chosen = 0;

	record_to(semihost_record);
	/* A server that is gone must not take its client with it. */
	(void)signal(SIGPIPE, SIG_IGN);
	while (chosen < sizeof(steps) / sizeof(steps[0]) && strcmp(steps[chosen].name, plan.operation))
		chosen++;
	if (chosen == sizeof(steps) / sizeof(steps[0]))
		bench_fail("no step of a campaign is called '%s'", plan.operation);
	plan.parameters = argv + 2;
	steps[chosen].run(&plan);
	/* Nothing is counted here: a processor that waits is as good as any. */
	return bench_finish(0);
}
