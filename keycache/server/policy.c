/* SPDX-License-Identifier: BSD-2-Clause */
/* What the policies share: their memory, and their queues. */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

static bool more_numbers(uint32_t **numbers, uint32_t from, uint32_t to)
{
	uint32_t *more = realloc(*numbers, to * sizeof(*more));

	if (!more)
		return false;
	for (uint32_t i = from; i < to; i++)
		more[i] = POLICY_NOTHING;
	*numbers = more;
	return true;
}

static bool more_bytes(uint8_t **bytes, uint32_t from, uint32_t to)
{
	uint8_t *more = realloc(*bytes, to);

	if (!more)
		return false;
	memset(more + from, 0, to - from);
	*bytes = more;
	return true;
}

static bool more_stamps(uint64_t **stamps, uint32_t from, uint32_t to)
{
	uint64_t *more = realloc(*stamps, to * sizeof(*more));

	if (!more)
		return false;
	memset(more + from, 0, (to - from) * sizeof(*more));
	*stamps = more;
	return true;
}

bool policy_grow(struct policy *policy, uint32_t objects)
{
	uint32_t had = policy->objects;

	if (objects <= had)
		return true;
	if (!more_numbers(&policy->links.newer, had, objects) || !more_numbers(&policy->links.older, had, objects) ||
	    !more_bytes(&policy->where, had, objects) || !more_bytes(&policy->uses, had, objects))
		return false;
	if (policy->kind->stamps && !more_stamps(&policy->stamps, had, objects))
		return false;
	policy->objects = objects;
	return true;
}

void policy_destroy(struct policy *policy)
{
	if (!policy)
		return;
	free(policy->links.newer);
	free(policy->links.older);
	free(policy->where);
	free(policy->uses);
	free(policy->stamps);
	free(policy);
}

struct policy *policy_create(const struct policy_kind *kind, uint32_t capacity, uint32_t objects)
{
	struct policy *policy = calloc(1, kind->size);

	if (!policy)
		return NULL;
	policy->kind = kind;
	policy->capacity = capacity;
	for (int i = 0; i < POLICY_QUEUES; i++)
		policy->queues[i] = (struct policy_queue){ .newest = POLICY_NOTHING, .oldest = POLICY_NOTHING };
	if (!policy_grow(policy, objects)) {
		policy_destroy(policy);
		return NULL;
	}
	if (kind->begin)
		kind->begin(policy);
	return policy;
}

void policy_put(struct policy *policy, uint32_t object, uint8_t where)
{
	struct policy_links *links = &policy->links;
	struct policy_queue *queue = &policy->queues[where];

	policy->where[object] = where;
	links->newer[object] = POLICY_NOTHING;
	links->older[object] = queue->newest;
	if (queue->newest != POLICY_NOTHING)
		links->newer[queue->newest] = object;
	else
		queue->oldest = object;
	queue->newest = object;
	queue->count++;
}

void policy_take(struct policy *policy, uint32_t object)
{
	struct policy_links *links = &policy->links;
	struct policy_queue *queue = &policy->queues[policy->where[object]];
	uint32_t newer = links->newer[object];
	uint32_t older = links->older[object];

	policy->where[object] = POLICY_OUT;
	if (newer != POLICY_NOTHING)
		links->older[newer] = older;
	else
		queue->newest = older;
	if (older != POLICY_NOTHING)
		links->newer[older] = newer;
	else
		queue->oldest = newer;
	queue->count--;
}
