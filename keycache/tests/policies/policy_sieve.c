/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIEVE (Zhang et al., NSDI 2024): one queue in order of arrival; a hand goes from the oldest to the newest, spares what was
 * used since it last came by, and takes out the first that was not. A hit only sets a mark.
 */
#include <stdlib.h>

#include "policies.h"

enum { OUT, KEPT, USED };

struct policy {
	uint32_t capacity;
	uint32_t hand;
	struct policy_links links;
	struct policy_queue queue;
	uint8_t *state;
};

static bool grow(struct policy *policy, uint32_t objects)
{
	return policy_bytes_grow(&policy->state, policy->links.objects, objects) &&
	       policy_links_grow(&policy->links, objects);
}

static void destroy(struct policy *policy)
{
	if (!policy)
		return;
	policy_links_free(&policy->links);
	free(policy->state);
	free(policy);
}

static struct policy *create(uint32_t capacity, uint32_t objects)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return NULL;
	policy->capacity = capacity;
	policy->hand = POLICY_NOTHING;
	policy->queue = policy_queue_empty();
	if (!grow(policy, objects)) {
		destroy(policy);
		return NULL;
	}
	return policy;
}

static void forget(struct policy *policy, uint32_t object)
{
	if (policy->state[object] == OUT)
		return;
	if (policy->hand == object)
		policy->hand = policy->links.newer[object];
	policy->state[object] = OUT;
	policy_queue_take(&policy->links, &policy->queue, object);
}

static uint32_t evict(struct policy *policy)
{
	uint32_t at = policy->hand == POLICY_NOTHING ? policy->queue.oldest : policy->hand;

	while (policy->state[at] == USED) {
		policy->state[at] = KEPT;
		at = policy->links.newer[at];
		if (at == POLICY_NOTHING)
			at = policy->queue.oldest;
	}
	policy->hand = at;
	forget(policy, at);
	return at;
}

static struct policy_choice use(struct policy *policy, uint32_t object)
{
	struct policy_choice choice = { .hit = policy->state[object] != OUT, .evict = POLICY_NOTHING };

	if (choice.hit) {
		policy->state[object] = USED;
		return choice;
	}
	if (!policy->capacity)
		return choice;
	if (policy->queue.count == policy->capacity)
		choice.evict = evict(policy);
	choice.keep = true;
	policy->state[object] = KEPT;
	policy_queue_push(&policy->links, &policy->queue, object);
	return choice;
}

const struct policy_kind policy_sieve = { "sieve", create, destroy, grow, use, forget };
