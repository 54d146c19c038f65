/* SPDX-License-Identifier: BSD-2-Clause */
/* What an attempt of the campaign `hold` is made of: a server, its clients, what they must have, and what is found. */
#ifndef WORLDWISE_APPS_KEYCACHE_SCENE_H
#define WORLDWISE_APPS_KEYCACHE_SCENE_H

#include <keycache.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bench/bench.h"

#define SCENE_CLIENTS 4096u

struct scene {
	const struct bench_plan *plan;
	bool rpmb;
	struct keycache *admin;
	struct keycache *broker;
	uint32_t given;                /* keys so far: each has a number */
	uint32_t have[SCENE_CLIENTS];  /* what a client must have; 0 for no key */
	uint32_t maybe[SCENE_CLIENTS]; /* what it may have instead: asked for and not confirmed */
	bool open[SCENE_CLIENTS];      /* whether there is such a thing */
	char result[40];               /* empty: it holds */
	char detail[1500];
};

/* Facts for the record, in their order. */
void scene_say(struct scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something that must not be. The first one is the result. */
void scene_wrong(struct scene *scene, const char *result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Starts the server with campaign_options and perhaps one option more, and connects. */
void scene_start(struct scene *scene, const char *option, const char *value);
void scene_connect(struct scene *scene);
void scene_disconnect(struct scene *scene);
void scene_stop(struct scene *scene);

/* A new key for a client, or none any more. With an error either may be what there is. */
enum keycache_error scene_set(struct scene *scene, uint32_t client);
enum keycache_error scene_delete(struct scene *scene, uint32_t client);
/* Keys for the first so many clients; all must be confirmed. */
void scene_fill(struct scene *scene, uint32_t clients);

/* Whether a client has what it must have. What it may have is settled by that. */
bool scene_has(struct scene *scene, uint32_t client);
/* All of the first so many; what is not right becomes the result. */
void scene_check(struct scene *scene, uint32_t clients);

/* Uses a client's key. */
enum keycache_error scene_seal(struct scene *scene, uint32_t client);

/* Numbers that vary from call to call, and are the same in each run: 0 to `below` - 1. */
uint32_t scene_chance(uint32_t below);

/* The attempts, by their names. */
struct attempt {
	const char *name;
	void (*run)(struct scene *scene);
};
extern const struct attempt process_attempts[]; /* each list ends with a name that is NULL */
extern const struct attempt record_attempts[];
extern const struct attempt storage_attempts[];
extern const struct attempt client_attempts[];
extern const struct attempt world_attempts[];

#endif /* WORLDWISE_APPS_KEYCACHE_SCENE_H */
