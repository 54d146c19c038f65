/* SPDX-License-Identifier: BSD-2-Clause */
/* What the steps of campaigns share; see main.c. */
#ifndef WORLDWISE_APPS_KEYCACHE_CAMPAIGN_H
#define WORLDWISE_APPS_KEYCACHE_CAMPAIGN_H

#include <keycache.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bench/bench.h"

#define SHADOW_FOLDER "/tmp/shadow"
#define SHADOW_LOG SHADOW_FOLDER "/records.log"

/* Clients are numbered, and so are the keys that one gets, from 1 on: a key is known by what made it. */
#define CLIENT_NAME 16
#define KEY_MOST 32

void client_name(char name[CLIENT_NAME], uint32_t client);
/* Returns the key's size: 16 bytes or 32, in turns. */
size_t client_key(uint8_t key[KEY_MOST], uint32_t client, uint32_t number);

/* What GET says of a client's key, once the TA is there: its number if it is one of 1 to `most`, else one of these. */
#define KEY_NONE 0u
#define KEY_OTHER UINT32_MAX        /* a key that nobody has set */
#define KEY_ERROR (UINT32_MAX - 1u) /* an error; keycache_text() says which */
uint32_t key_of(struct keycache *broker, uint32_t client, uint32_t most);

/* Of `options` for server_start(): records on a disk, and GET, by which keys are compared. */
extern const char *const campaign_options[];

void campaign_outcome(const char *what, const char *result, const char *detail);

/* A sign of life, for a host that waits long. */
void campaign_progress(void);

/* Writes all of a file, or ends the program. */
void write_file(const char *path, const void *data, size_t size);

void cut_write(const struct bench_plan *plan);
void cut_read(const struct bench_plan *plan);
void hold(const struct bench_plan *plan);

#endif /* WORLDWISE_APPS_KEYCACHE_CAMPAIGN_H */
