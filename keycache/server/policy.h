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

struct policy;

struct policy_kind {
	const char *name;
	/* `objects`: how many there can be; grows by `grow`. NULL: no memory. */
	struct policy *(*create)(uint32_t capacity, uint32_t objects);
	void (*destroy)(struct policy *policy);
	bool (*grow)(struct policy *policy, uint32_t objects);
	struct policy_choice (*use)(struct policy *policy, uint32_t object);
	/* It is gone: deleted, or the TA did not take it. */
	void (*forget)(struct policy *policy, uint32_t object);
};

extern const struct policy_kind policy_s3fifo;

/* The one behind --policy smart; the table in README.md says why. */
#define POLICY_SMART policy_s3fifo

/* Queues of objects as lists over arrays, shared by the policies. An object is in one queue at most. */
struct policy_links {
	uint32_t *newer;
	uint32_t *older;
	uint32_t objects;
};

struct policy_queue {
	uint32_t newest;
	uint32_t oldest;
	uint32_t count;
};

bool policy_links_grow(struct policy_links *links, uint32_t objects);
void policy_links_free(struct policy_links *links);
struct policy_queue policy_queue_empty(void);
void policy_queue_push(struct policy_links *links, struct policy_queue *queue, uint32_t object);
void policy_queue_take(struct policy_links *links, struct policy_queue *queue, uint32_t object);

/* A byte per object. */
bool policy_bytes_grow(uint8_t **bytes, uint32_t from, uint32_t to);

#endif /* KEYCACHE_POLICY_H */
