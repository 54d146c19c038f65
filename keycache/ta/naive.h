/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cache is compared with: one object of secure storage for each client, opened and read for every use. */
#ifndef KEYCACHE_NAIVE_H
#define KEYCACHE_NAIVE_H

#include "types.h"

TEE_Result naive_open(enum keycache_storage storage);
/* All may answer KEYCACHE_NO_KEY. */
TEE_Result naive_get(const struct id *id, struct key *key);
TEE_Result naive_set(const struct id *id, const struct key *key);
TEE_Result naive_delete(const struct id *id);

#endif /* KEYCACHE_NAIVE_H */
