/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay.h"

#include <stdlib.h>

static const char *play(const struct policy_kind *kind, struct policy *policy, uint8_t *kept, const uint32_t *requests,
			uint32_t count, uint32_t capacity, uint32_t *hits)
{
	uint32_t keeps = 0;

	*hits = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct policy_choice choice = kind->use(policy, requests[i]);

		if (choice.hit != kept[requests[i]] || (choice.hit && choice.keep))
			return "the policy is wrong about what is kept";
		*hits += choice.hit;
		if (choice.evict != POLICY_NOTHING) {
			if (!kept[choice.evict])
				return "the policy evicts what is not kept";
			kept[choice.evict] = 0;
			keeps--;
		}
		if (choice.keep) {
			kept[requests[i]] = 1;
			keeps++;
		}
		if (keeps > capacity)
			return "the policy keeps too much";
	}
	return NULL;
}

const char *replay(const struct policy_kind *kind, const uint32_t *requests, uint32_t count, uint32_t clients,
		   uint32_t capacity, uint32_t *hits)
{
	struct policy *policy = policy_create(kind, capacity, clients);
	uint8_t *kept = calloc(clients, 1);
	const char *problem = "out of memory";

	if (policy && kept)
		problem = play(kind, policy, kept, requests, count, capacity, hits);
	policy_destroy(policy);
	free(kept);
	return problem;
}
