/* SPDX-License-Identifier: BSD-2-Clause */
/* A normal world that was taken over: keycache/tests/device asks the TA itself, and there is no server. */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign.h"
#include "scene.h"

#define ATTEMPTS "/bin/keycache-attempts"
/* What it writes first in each row of its table, and what is in a row that holds. */
#define ROW "| "
#define REFUSED " | yes | "
#define CONTROLLED ": SUCCESS |\n"

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* Starts the program; what it writes can be read. The machine has no shell. */
static FILE *start(pid_t *process)
{
	char *const arguments[] = { (char[]){ ATTEMPTS }, NULL };
	char *const environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	int ends[2];

	if (pipe(ends) || posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
	    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO) ||
	    posix_spawn(process, ATTEMPTS, &actions, NULL, arguments, environment))
		bench_fail("%s does not start", ATTEMPTS);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	return fdopen(ends[0], "r");
}

static void normal_world(struct scene *scene)
{
	pid_t process = 0;
	FILE *rows = start(&process);
	unsigned int holding = 0;
	char line[512];
	int status = 0;

	while (rows && fgets(line, sizeof(line), rows)) {
		campaign_progress();
		if (!strncmp(line, ROW, strlen(ROW)) && strstr(line, REFUSED) && ends_with(line, CONTROLLED)) {
			holding++;
			continue;
		}
		line[strcspn(line, "\n")] = 0;
		/* The last line counts. */
		if (strstr(line, "attempts hold"))
			scene_say(scene, "%s", line);
		else
			scene_wrong(scene, "read", "%s", line);
	}
	if (!rows || fclose(rows) || waitpid(process, &status, 0) != process || status)
		scene_wrong(scene, "read", "its status is %d", status);
	scene_say(scene, "%u refused, each with a control that works", holding);
}

const struct attempt world_attempts[] = { { "normal-world", normal_world }, { NULL, NULL } };
