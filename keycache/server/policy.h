/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which keys the TA keeps, decided in the normal world. Objects are small numbers (the shadow's slots); a policy is told of
 * every use and answers what to do. It never lets more than `capacity` objects be kept.
 *
 * That the normal world decides gives nothing away: it sees which keys are used in any case.
 */
#ifndef KEYCACHE_POLICY_H
#define KEYCACHE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_NOTHING UINT32_MAX

struct policy_choice {
	bool hit;       /* it is kept already */
	bool keep;      /* it is not, and shall be */
	uint32_t evict; /* take this one out first, or POLICY_NOTHING */
};

/* Queues of objects as lists over arrays. An object is in one queue at most. */
struct policy_links {
	uint32_t *newer;
	uint32_t *older;
};

struct policy_queue {
	uint32_t newest;
	uint32_t oldest;
	uint32_t count;
};

#define POLICY_QUEUES 4
/* No queue: such objects are not kept. */
#define POLICY_OUT 0

struct policy_kind;

/* What every policy has. A kind with more begins its own structure with this one. */
struct policy {
	const struct policy_kind *kind;
	uint32_t capacity;
	uint32_t objects; /* as many as the arrays below have room for */
	struct policy_links links;
	struct policy_queue queues[POLICY_QUEUES];
	/* Of each object, 0 at first. */
	uint8_t *where; /* its queue */
	uint8_t *uses;
	uint64_t *stamps; /* only if the kind asks for them */
};

struct policy_kind {
	const char *name;
	size_t size; /* bytes of its own structure */
	bool stamps;
	/* Sets what else its structure has, which is zero; NULL: nothing. */
	void (*begin)(struct policy *policy);
	struct policy_choice (*use)(struct policy *policy, uint32_t object);
	/* It is gone: deleted, or the TA did not take it. */
	void (*forget)(struct policy *policy, uint32_t object);
};

extern const struct policy_kind policy_s3fifo;

/* The one behind --policy smart; the table in README.md says why. */
#define POLICY_SMART policy_s3fifo

/* `objects`: how many there can be; grows by policy_grow(). NULL: no memory. */
struct policy *policy_create(const struct policy_kind *kind, uint32_t capacity, uint32_t objects);
void policy_destroy(struct policy *policy);
bool policy_grow(struct policy *policy, uint32_t objects);

/* For the kinds: puts an object that is in no queue at the newest end of one; takes one out of its queue. */
void policy_put(struct policy *policy, uint32_t object, uint8_t where);
void policy_take(struct policy *policy, uint32_t object);

#endif /* KEYCACHE_POLICY_H */
