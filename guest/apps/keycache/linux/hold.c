/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks on the key cache: one attempt in each machine, and a record that says whether the key cache held, and how. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../server.h"
#include "campaign.h"
#include "scene.h"

static void add(struct scene *scene, const char *format, va_list rest) __attribute__((format(printf, 2, 0)));
static void add(struct scene *scene, const char *format, va_list rest)
{
	size_t used = strlen(scene->detail);

	if (used)
		used += (size_t)snprintf(scene->detail + used, sizeof(scene->detail) - used, "; ");
	/* What has no room any more is cut off: there is enough to read then. */
	if (used < sizeof(scene->detail))
		(void)vsnprintf(scene->detail + used, sizeof(scene->detail) - used, format, rest);
}

void scene_say(struct scene *scene, const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	add(scene, format, rest);
	va_end(rest);
}

void scene_wrong(struct scene *scene, const char *result, const char *format, ...)
{
	va_list rest;

	if (!scene->result[0])
		(void)snprintf(scene->result, sizeof(scene->result), "%s", result);
	va_start(rest, format);
	add(scene, format, rest);
	va_end(rest);
}

void scene_connect(struct scene *scene)
{
	scene->admin = server_connect(SERVER_ADMIN);
	scene->broker = server_connect(SERVER_BROKER);
}

void scene_disconnect(struct scene *scene)
{
	keycache_close(scene->admin);
	keycache_close(scene->broker);
	scene->admin = scene->broker = NULL;
}

void scene_start(struct scene *scene, const char *option, const char *value)
{
	const char *options[8] = { NULL };
	size_t count = 0;

	for (; campaign_options[count]; count++)
		options[count] = campaign_options[count];
	options[count++] = option;
	if (option)
		options[count] = value;
	server_start(scene->plan, options, NULL);
	scene_connect(scene);
}

void scene_stop(struct scene *scene)
{
	scene_disconnect(scene);
	server_stop();
}

static enum keycache_error changed(struct scene *scene, uint32_t client, uint32_t number, enum keycache_error error)
{
	if (error) {
		scene->maybe[client] = number;
		scene->open[client] = true;
	} else {
		scene->have[client] = number;
		scene->open[client] = false;
	}
	return error;
}

enum keycache_error scene_set(struct scene *scene, uint32_t client)
{
	char name[CLIENT_NAME];
	uint8_t key[KEY_MOST];
	uint32_t number = ++scene->given;
	size_t size = client_key(key, client, number);

	client_name(name, client);
	return changed(scene, client, number, keycache_set(scene->admin, name, key, size));
}

enum keycache_error scene_delete(struct scene *scene, uint32_t client)
{
	char name[CLIENT_NAME];

	client_name(name, client);
	return changed(scene, client, KEY_NONE, keycache_del(scene->admin, name));
}

void scene_fill(struct scene *scene, uint32_t clients)
{
	for (uint32_t client = 0; client < clients; client++)
		server_must(scene_set(scene, client), scene->admin, "SET", client);
}

bool scene_has(struct scene *scene, uint32_t client)
{
	uint32_t found = key_of(scene->broker, client, scene->given);

	if (scene->open[client] && found == scene->maybe[client])
		scene->have[client] = found;
	scene->open[client] = false;
	if (found == scene->have[client])
		return true;
	if (found == KEY_ERROR)
		scene_wrong(scene, "error", "client %u: %s", (unsigned int)client, keycache_text(scene->broker));
	else if (found == KEY_OTHER)
		scene_wrong(scene, "wrong", "client %u has a key that nobody set", (unsigned int)client);
	else
		scene_wrong(scene, "lost", "client %u has key %u and not %u", (unsigned int)client, (unsigned int)found,
			    (unsigned int)scene->have[client]);
	return false;
}

void scene_check(struct scene *scene, uint32_t clients)
{
	for (uint32_t client = 0; client < clients; client++)
		if (!scene_has(scene, client))
			return;
}

enum keycache_error scene_seal(struct scene *scene, uint32_t client)
{
	static const char text[] = "a message";
	uint8_t message[sizeof(text) + KEYCACHE_OVERHEAD];
	size_t size = sizeof(message);
	char name[CLIENT_NAME];

	client_name(name, client);
	return keycache_seal(scene->broker, name, text, sizeof(text), message, &size);
}

uint32_t scene_chance(uint32_t below)
{
	static uint32_t state = 7;

	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

void hold(const struct bench_plan *plan)
{
	static const struct attempt *const lists[] = { process_attempts, record_attempts, storage_attempts,
						       client_attempts, world_attempts };
	static struct scene scene;
	const char *storage = bench_parameter(plan, "storage");
	const char *wanted = bench_parameter(plan, "attempt");

	scene.plan = plan;
	scene.rpmb = storage && !strcmp(storage, "rpmb");
	for (size_t i = 0; wanted && i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const struct attempt *each = lists[i]; each->name; each++) {
			if (strcmp(each->name, wanted))
				continue;
			server_prepare(NULL, NULL);
			each->run(&scene);
			campaign_outcome(wanted, scene.result[0] ? scene.result : "holds", scene.detail);
			return;
		}
	}
	bench_fail("no attempt is called '%s'", wanted ? wanted : "");
}
