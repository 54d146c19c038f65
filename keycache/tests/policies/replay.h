/* SPDX-License-Identifier: BSD-2-Clause */
/* A policy alone, without a server around it, over a stream of requests. */
#ifndef KEYCACHE_REPLAY_H
#define KEYCACHE_REPLAY_H

#include "policies.h"

/*
 * Plays `count` requests and counts the hits. NULL if all went well, else what did not: a policy that says another thing than it
 * did, or keeps more than `capacity`, is not worth a rate.
 */
const char *replay(const struct policy_kind *kind, const uint32_t *requests, uint32_t count, uint32_t clients,
		   uint32_t capacity, uint32_t *hits);

#endif /* KEYCACHE_REPLAY_H */
