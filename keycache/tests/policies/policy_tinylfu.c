/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * W-TinyLFU (Einziger, Friedman and Manes, ACM ToS 2017): a small window (a hundredth) in order of use takes what is new; who
 * falls out of it has to be used more often than the main part's next victim to take its place. The main part is
 * in two: what was used there again is protected (four fifths), the rest is on probation.
 *
 * The published sketch of frequencies is not needed: objects are small numbers, so that each has a counter of its own. All
 * are halved after ten capacities of uses: what was popular once does not stay for ever.
 */
#include "policies.h"

enum { OUT = POLICY_OUT, WINDOW, PROBATION, PROTECTED };
#define MOST_USES 15
#define SAMPLE 10

struct tinylfu {
	struct policy policy;
	uint32_t window_room;
	uint32_t protected_room;
	uint64_t sampled;
};

static struct tinylfu *of(struct policy *policy)
{
	return (struct tinylfu *)policy;
}

static void begin(struct policy *policy)
{
	uint32_t capacity = policy->capacity;
	uint32_t window = capacity / 100 ? capacity / 100 : 1;

	of(policy)->window_room = window;
	of(policy)->protected_room = capacity > window ? (uint32_t)((uint64_t)(capacity - window) * 4 / 5) : 0;
}

static void move(struct policy *policy, uint32_t object, uint8_t where)
{
	policy_take(policy, object);
	policy_put(policy, object, where);
}

static void forget(struct policy *policy, uint32_t object)
{
	if (policy->where[object] != OUT)
		policy_take(policy, object);
	/* The slot may be another's next time. */
	policy->uses[object] = 0;
}

static void count(struct policy *policy, uint32_t object)
{
	if (policy->uses[object] < MOST_USES)
		policy->uses[object]++;
	if (++of(policy)->sampled < (uint64_t)policy->capacity * SAMPLE)
		return;
	of(policy)->sampled /= 2;
	for (uint32_t i = 0; i < policy->objects; i++)
		policy->uses[i] /= 2;
}

/* The window is full: its oldest goes to the main part, or stays out. */
static uint32_t leave_window(struct policy *policy)
{
	uint32_t candidate = policy->queues[WINDOW].oldest;
	uint32_t main_count = policy->queues[PROBATION].count + policy->queues[PROTECTED].count;
	uint32_t victim;

	if (main_count < policy->capacity - of(policy)->window_room) {
		move(policy, candidate, PROBATION);
		return POLICY_NOTHING;
	}
	victim = policy->queues[PROBATION].count ? policy->queues[PROBATION].oldest : policy->queues[PROTECTED].oldest;
	if (victim == POLICY_NOTHING || policy->uses[candidate] <= policy->uses[victim]) {
		policy_take(policy, candidate);
		return candidate;
	}
	policy_take(policy, victim);
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
		if (!of(policy)->protected_room) {
			move(policy, object, PROBATION);
			return choice;
		}
		move(policy, object, PROTECTED);
		if (policy->queues[PROTECTED].count > of(policy)->protected_room)
			move(policy, policy->queues[PROTECTED].oldest, PROBATION);
		return choice;
	}
	if (policy->queues[WINDOW].count == of(policy)->window_room)
		choice.evict = leave_window(policy);
	choice.keep = true;
	policy_put(policy, object, WINDOW);
	return choice;
}

const struct policy_kind policy_tinylfu = { "w-tinylfu", sizeof(struct tinylfu), false, begin, use, forget };
