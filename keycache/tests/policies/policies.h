/* SPDX-License-Identifier: BSD-2-Clause */
/* What the server's policy is compared with; no server has these. It leaves LRU to the TA. */
#ifndef KEYCACHE_POLICIES_H
#define KEYCACHE_POLICIES_H

#include "policy.h"

extern const struct policy_kind policy_lru;
extern const struct policy_kind policy_sieve;
extern const struct policy_kind policy_tinylfu;

#endif /* KEYCACHE_POLICIES_H */
