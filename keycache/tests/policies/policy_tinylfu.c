/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * W-TinyLFU (Einziger, Friedman and Manes, ACM ToS 2017): a small window (a hundredth) in order of use takes what is new; who
 * falls out of it has to be used more often than the main part's next victim to take its place. The main part is
 * in two: what was used there again is protected (four fifths), the rest is on probation.
 *
 * The published sketch of frequencies is not needed: objects are small numbers, so that each has a counter of its own. All
 * are halved after ten capacities of uses: what was popular once does not stay for ever.
 */
#include <stdlib.h>

#include "policies.h"

enum { OUT, WINDOW, PROBATION, PROTECTED, QUEUES };
#define MOST_USES 15
#define SAMPLE 10

struct policy {
	uint32_t capacity;
	uint32_t room[QUEUES];
	struct policy_links links;
	struct policy_queue queues[QUEUES];
	uint8_t *where;
	uint8_t *uses;
	uint64_t sampled;
};

static bool grow(struct policy *policy, uint32_t objects)
{
	uint32_t had = policy->links.objects;

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
	free(policy);
}

static struct policy *create(uint32_t capacity, uint32_t objects)
{
	struct policy *policy = calloc(1, sizeof(*policy));
	uint32_t window = capacity / 100 ? capacity / 100 : 1;

	if (!policy)
		return NULL;
	policy->capacity = capacity;
	policy->room[WINDOW] = window;
	policy->room[PROTECTED] = capacity > window ? (uint32_t)((uint64_t)(capacity - window) * 4 / 5) : 0;
	for (int i = 0; i < QUEUES; i++)
		policy->queues[i] = policy_queue_empty();
	if (!grow(policy, objects)) {
		destroy(policy);
		return NULL;
	}
	return policy;
}

static void take(struct policy *policy, uint32_t object)
{
	policy_queue_take(&policy->links, &policy->queues[policy->where[object]], object);
	policy->where[object] = OUT;
}

static void put(struct policy *policy, uint32_t object, uint8_t where)
{
	policy->where[object] = where;
	policy_queue_push(&policy->links, &policy->queues[where], object);
}

static void move(struct policy *policy, uint32_t object, uint8_t where)
{
	take(policy, object);
	put(policy, object, where);
}

static void forget(struct policy *policy, uint32_t object)
{
	if (policy->where[object] != OUT)
		take(policy, object);
	/* The slot may be another's next time. */
	policy->uses[object] = 0;
}

static void count(struct policy *policy, uint32_t object)
{
	if (policy->uses[object] < MOST_USES)
		policy->uses[object]++;
	if (++policy->sampled < (uint64_t)policy->capacity * SAMPLE)
		return;
	policy->sampled /= 2;
	for (uint32_t i = 0; i < policy->links.objects; i++)
		policy->uses[i] /= 2;
}

/* The window is full: its oldest goes to the main part, or stays out. */
static uint32_t leave_window(struct policy *policy)
{
	uint32_t candidate = policy->queues[WINDOW].oldest;
	uint32_t main_count = policy->queues[PROBATION].count + policy->queues[PROTECTED].count;
	uint32_t victim;

	if (main_count < policy->capacity - policy->room[WINDOW]) {
		move(policy, candidate, PROBATION);
		return POLICY_NOTHING;
	}
	victim = policy->queues[PROBATION].count ? policy->queues[PROBATION].oldest : policy->queues[PROTECTED].oldest;
	if (victim == POLICY_NOTHING || policy->uses[candidate] <= policy->uses[victim]) {
		take(policy, candidate);
		return candidate;
	}
	take(policy, victim);
	move(policy, candidate, PROBATION);
	return victim;
}

static struct policy_choice use(struct policy *policy, uint32_t object)
{
	struct policy_choice choice = { .hit = policy->where[object] != OUT, .evict = POLICY_NOTHING };

	if (!policy->capacity)
		return choice;
	count(policy, object);
	if (choice.hit) {
		if (policy->where[object] == WINDOW) {
			move(policy, object, WINDOW);
			return choice;
		}
		if (!policy->room[PROTECTED]) {
			move(policy, object, PROBATION);
			return choice;
		}
		move(policy, object, PROTECTED);
		if (policy->queues[PROTECTED].count > policy->room[PROTECTED])
			move(policy, policy->queues[PROTECTED].oldest, PROBATION);
		return choice;
	}
	if (policy->queues[WINDOW].count == policy->room[WINDOW])
		choice.evict = leave_window(policy);
	choice.keep = true;
	put(policy, object, WINDOW);
	return choice;
}

const struct policy_kind policy_tinylfu = { "w-tinylfu", create, destroy, grow, use, forget };
