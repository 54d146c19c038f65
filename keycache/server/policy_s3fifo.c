/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * S3-FIFO (Yang et al., SOSP 2023): a small queue (a tenth) takes what is new, the main queue what was used again, and a
 * ghost queue remembers what left the small one unused: whoever comes back from there goes to the main queue at once.
 *
 * The ghost queue is a number per object: when it became a ghost, in a count of ghosts. It is one still if no more than a
 * main queue's worth came after it.
 */
#include "policy.h"

enum { OUT = POLICY_OUT, SMALL, MAIN };
#define MOST_USES 3

/* An object's stamp says when it became a ghost; 0: it never was one. */
struct s3fifo {
	struct policy policy;
	uint32_t small_capacity;
	uint64_t ghosts;
};

static struct s3fifo *of(struct policy *policy)
{
	return (struct s3fifo *)policy;
}

static void begin(struct policy *policy)
{
	of(policy)->small_capacity = policy->capacity / 10 ? policy->capacity / 10 : 1;
}

static void forget(struct policy *policy, uint32_t object)
{
	if (policy->where[object] == OUT)
		return;
	policy_take(policy, object);
	policy->uses[object] = 0;
}

static uint32_t evict(struct policy *policy)
{
	struct policy_queue *small = &policy->queues[SMALL];
	struct policy_queue *main = &policy->queues[MAIN];
	uint32_t small_capacity = of(policy)->small_capacity;

	for (;;) {
		bool from_small = small->count >= small_capacity || !main->count;
		uint32_t object = from_small ? small->oldest : main->oldest;
		uint8_t uses = policy->uses[object];

		/* A small queue of one has nothing but the last arrival: there, one use is enough to stay. */
		if (from_small && uses > (small_capacity > 1)) {
			forget(policy, object);
			policy_put(policy, object, MAIN);
			continue;
		}
		if (!from_small && uses) {
			forget(policy, object);
			policy_put(policy, object, MAIN);
			policy->uses[object] = uses - 1;
			continue;
		}
		forget(policy, object);
		if (from_small)
			policy->stamps[object] = ++of(policy)->ghosts;
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
	ghost = policy->stamps[object] && of(policy)->ghosts - policy->stamps[object] < policy->capacity;
	policy->stamps[object] = 0;
	if (policy->queues[SMALL].count + policy->queues[MAIN].count == policy->capacity)
		choice.evict = evict(policy);
	choice.keep = true;
	policy_put(policy, object, ghost ? MAIN : SMALL);
	return choice;
}

const struct policy_kind policy_s3fifo = { "s3-fifo", sizeof(struct s3fifo), true, begin, use, forget };
