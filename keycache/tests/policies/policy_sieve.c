/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIEVE (Zhang et al., NSDI 2024): one queue in order of arrival; a hand goes from the oldest to the newest, spares what was
 * used since it last came by, and takes out the first that was not. A hit only sets a mark.
 */
#include "policies.h"

enum { OUT = POLICY_OUT, KEPT };

/* An object's uses are no more than a mark. */
struct sieve {
	struct policy policy;
	uint32_t hand;
};

static uint32_t *hand_of(struct policy *policy)
{
	return &((struct sieve *)policy)->hand;
}

static void begin(struct policy *policy)
{
	*hand_of(policy) = POLICY_NOTHING;
}

static void forget(struct policy *policy, uint32_t object)
{
	if (policy->where[object] == OUT)
		return;
	if (*hand_of(policy) == object)
		*hand_of(policy) = policy->links.newer[object];
	policy_take(policy, object);
}

static uint32_t evict(struct policy *policy)
{
	uint32_t oldest = policy->queues[KEPT].oldest;
	uint32_t at = *hand_of(policy) == POLICY_NOTHING ? oldest : *hand_of(policy);

	while (policy->uses[at]) {
		policy->uses[at] = 0;
		at = policy->links.newer[at];
		if (at == POLICY_NOTHING)
			at = oldest;
	}
	*hand_of(policy) = at;
	forget(policy, at);
	return at;
}

static struct policy_choice use(struct policy *policy, uint32_t object)
{
	struct policy_choice choice = { .hit = policy->where[object] != OUT, .evict = POLICY_NOTHING };

	if (choice.hit) {
		policy->uses[object] = 1;
		return choice;
	}
	if (!policy->capacity)
		return choice;
	if (policy->queues[KEPT].count == policy->capacity)
		choice.evict = evict(policy);
	choice.keep = true;
	policy->uses[object] = 0;
	policy_put(policy, object, KEPT);
	return choice;
}

const struct policy_kind policy_sieve = { "sieve", sizeof(struct sieve), false, begin, use, forget };
