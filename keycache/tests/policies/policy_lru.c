/* SPDX-License-Identifier: BSD-2-Clause */
/* The least recently used goes. */
#include "policies.h"

enum { OUT = POLICY_OUT, KEPT };

static void forget(struct policy *policy, uint32_t object)
{
	if (policy->where[object] != OUT)
		policy_take(policy, object);
}

static struct policy_choice use(struct policy *policy, uint32_t object)
{
	struct policy_choice choice = { .hit = policy->where[object] != OUT, .evict = POLICY_NOTHING };

	forget(policy, object);
	if (!policy->capacity)
		return choice;
	if (policy->queues[KEPT].count == policy->capacity) {
		choice.evict = policy->queues[KEPT].oldest;
		forget(policy, choice.evict);
	}
	choice.keep = !choice.hit;
	policy_put(policy, object, KEPT);
	return choice;
}

const struct policy_kind policy_lru = { "lru", sizeof(struct policy), false, NULL, use, forget };
