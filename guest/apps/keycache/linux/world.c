/* SPDX-License-Identifier: BSD-2-Clause */
/* A normal world that was taken over: keycache/tests/device asks the TA itself, and there is no server. */
#include <stdio.h>
#include <string.h>

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

static void normal_world(struct scene *scene)
{
	FILE *rows = popen(ATTEMPTS " 2>&1", "r");
	unsigned int holding = 0;
	char line[512];
	int status;

	if (!rows)
		bench_fail("%s does not start", ATTEMPTS);
	while (fgets(line, sizeof(line), rows)) {
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
	status = pclose(rows);
	if (status)
		scene_wrong(scene, "read", "its status is %d", status);
	scene_say(scene, "%u refused, each with a control that works", holding);
}

const struct attempt world_attempts[] = { { "normal-world", normal_world }, { NULL, NULL } };
