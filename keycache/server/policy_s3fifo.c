/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * S3-FIFO (Yang et al., SOSP 2023): a small queue (a tenth) takes what is new, the main queue what was used again, and a
 * ghost queue remembers what left the small one unused: whoever comes back from there goes to the main queue at once.
 *
 * The ghost queue is a number per object: when it became a ghost, in a count of ghosts. It is one still if no more than a
 * main queue's worth came after it.
 */
#include <stdlib.h>

#include "policy.h"

enum { OUT, SMALL, MAIN };
#define MOST_USES 3

struct policy {
	uint32_t capacity;
	uint32_t small_capacity;
	struct policy_links links;
	struct policy_queue small;
	struct policy_queue main;
	uint8_t *where;
	uint8_t *uses;
	uint64_t *ghost; /* 0: never was one */
	uint64_t ghosts;
};

static bool grow(struct policy *policy, uint32_t objects)
{
	uint32_t had = policy->links.objects;
	uint64_t *ghost;

	if (objects <= had)
		return true;
	ghost = realloc(policy->ghost, objects * sizeof(*ghost));
	if (!ghost)
		return false;
	policy->ghost = ghost;
	for (uint32_t i = had; i < objects; i++)
		ghost[i] = 0;
	return policy_bytes_grow(&policy->where, had, objects) && policy_bytes_grow(&policy->uses, had, objects) &&
	       policy_links_grow(&policy->links, objects);
}

static void destroy(struct policy *policy)
{
	if (!policy)
		return;
	policy_links_free(&policy->links);
	free(policy->where);
	free(policy->uses);
	free(policy->ghost);
	free(policy);
}

static struct policy *create(uint32_t capacity, uint32_t objects)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return NULL;
	policy->capacity = capacity;
	policy->small_capacity = capacity / 10 ? capacity / 10 : 1;
	policy->small = policy_queue_empty();
	policy->main = policy_queue_empty();
	if (!grow(policy, objects)) {
		destroy(policy);
		return NULL;
	}
	return policy;
}

static void put(struct policy *policy, uint32_t object, uint8_t where)
{
	policy->where[object] = where;
	policy_queue_push(&policy->links, where == SMALL ? &policy->small : &policy->main, object);
}

static void forget(struct policy *policy, uint32_t object)
{
	if (policy->where[object] == OUT)
		return;
	policy_queue_take(&policy->links, policy->where[object] == SMALL ? &policy->small : &policy->main, object);
	policy->where[object] = OUT;
	policy->uses[object] = 0;
}

static uint32_t evict(struct policy *policy)
{
	for (;;) {
		bool from_small = policy->small.count >= policy->small_capacity || !policy->main.count;
		uint32_t object = from_small ? policy->small.oldest : policy->main.oldest;
		uint8_t uses = policy->uses[object];

		/* A small queue of one has nothing but the last arrival: there, one use is enough to stay. */
		if (from_small && uses > (policy->small_capacity > 1)) {
			forget(policy, object);
			put(policy, object, MAIN);
			continue;
		}
		if (!from_small && uses) {
			forget(policy, object);
			put(policy, object, MAIN);
			policy->uses[object] = uses - 1;
			continue;
		}
		forget(policy, object);
		if (from_small)
			policy->ghost[object] = ++policy->ghosts;
		return object;
	}
}

static struct policy_choice use(struct policy *policy, uint32_t object)
{
	struct policy_choice choice = { .hit = policy->where[object] != OUT, .evict = POLICY_NOTHING };
	bool ghost;

	if (choice.hit) {
		if (policy->uses[object] < MOST_USES)
			policy->uses[object]++;
		return choice;
	}
	if (!policy->capacity)
		return choice;
	ghost = policy->ghost[object] && policy->ghosts - policy->ghost[object] < policy->capacity;
	policy->ghost[object] = 0;
	if (policy->small.count + policy->main.count == policy->capacity)
		choice.evict = evict(policy);
	choice.keep = true;
	put(policy, object, ghost ? MAIN : SMALL);
	return choice;
}

const struct policy_kind policy_s3fifo = { "s3-fifo", create, destroy, grow, use, forget };
