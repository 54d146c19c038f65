/* SPDX-License-Identifier: BSD-2-Clause */
/* The least recently used goes. */
#include <stdlib.h>

#include "policies.h"

struct policy {
	uint32_t capacity;
	struct policy_links links;
	struct policy_queue queue;
	uint8_t *kept;
};

static bool grow(struct policy *policy, uint32_t objects)
{
	return policy_bytes_grow(&policy->kept, policy->links.objects, objects) &&
	       policy_links_grow(&policy->links, objects);
}

static void destroy(struct policy *policy)
{
	if (!policy)
		return;
	policy_links_free(&policy->links);
	free(policy->kept);
	free(policy);
}

static struct policy *create(uint32_t capacity, uint32_t objects)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return NULL;
	policy->capacity = capacity;
	policy->queue = policy_queue_empty();
	if (!grow(policy, objects)) {
		destroy(policy);
		return NULL;
	}
	return policy;
}

static void forget(struct policy *policy, uint32_t object)
{
	if (!policy->kept[object])
		return;
	policy->kept[object] = 0;
	policy_queue_take(&policy->links, &policy->queue, object);
}

static struct policy_choice use(struct policy *policy, uint32_t object)
{
	struct policy_choice choice = { .hit = policy->kept[object], .evict = POLICY_NOTHING };

	forget(policy, object);
	if (!policy->capacity)
		return choice;
	if (policy->queue.count == policy->capacity) {
		choice.evict = policy->queue.oldest;
		forget(policy, choice.evict);
	}
	choice.keep = !choice.hit;
	policy->kept[object] = 1;
	policy_queue_push(&policy->links, &policy->queue, object);
	return choice;
}

const struct policy_kind policy_lru = { "lru", create, destroy, grow, use, forget };
