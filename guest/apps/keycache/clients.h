/* SPDX-License-Identifier: BSD-2-Clause */
/* The clients whose keys a workload uses: names, keys, and what was sealed under them. */
#ifndef WORLDWISE_APPS_KEYCACHE_CLIENTS_H
#define WORLDWISE_APPS_KEYCACHE_CLIENTS_H

#include <keycache.h>
#include <stddef.h>
#include <stdint.h>

/* As redis-benchmark writes its random numbers: client-000000000007. */
#define CLIENTS_PREFIX "client-"
#define CLIENTS_DIGITS 12
#define CLIENTS_KEY_BYTES 16
#define CLIENTS_NAME_BYTES (sizeof(CLIENTS_PREFIX) + CLIENTS_DIGITS)

void clients_name(uint32_t client, char name[CLIENTS_NAME_BYTES]);

/* Sets the keys of the first `count`. All the time it tells of checks of `measure`: who waits for records sees it live. */
void clients_set(struct keycache *admin, uint32_t count, const char *measure);

/* Ends the program unless this is a client's key. */
void clients_check_key(uint32_t client, const uint8_t *key, size_t size);

/* Ends the program unless a message (nonce || ciphertext || tag) opens under a client's key and is this text. */
void clients_check(uint32_t client, const uint8_t *message, size_t message_size, const void *plain, size_t plain_size);

#endif /* WORLDWISE_APPS_KEYCACHE_CLIENTS_H */
