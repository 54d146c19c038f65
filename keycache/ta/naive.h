/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cache is compared with: one object of secure storage for each client, opened and read for every use. */
#ifndef KEYCACHE_NAIVE_H
#define KEYCACHE_NAIVE_H

#include "types.h"

#ifdef KEYCACHE_MEASURING
TEE_Result naive_open(enum keycache_storage storage);
/* All may answer KEYCACHE_NO_KEY. */
TEE_Result naive_get(const struct id *id, struct key *key);
TEE_Result naive_set(const struct id *id, const struct key *key);
TEE_Result naive_delete(const struct id *id);
#else
/* A product has none: keys_naive() is false there, so nobody comes here. */
static inline TEE_Result naive_open(enum keycache_storage storage)
{
	(void)storage;
	return TEE_ERROR_NOT_SUPPORTED;
}
static inline TEE_Result naive_get(const struct id *id, struct key *key)
{
	(void)id;
	(void)key;
	return TEE_ERROR_NOT_SUPPORTED;
}
static inline TEE_Result naive_set(const struct id *id, const struct key *key)
{
	(void)id;
	(void)key;
	return TEE_ERROR_NOT_SUPPORTED;
}
static inline TEE_Result naive_delete(const struct id *id)
{
	(void)id;
	return TEE_ERROR_NOT_SUPPORTED;
}
#endif /* KEYCACHE_MEASURING */

#endif /* KEYCACHE_NAIVE_H */
