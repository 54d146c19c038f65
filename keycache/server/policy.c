/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

bool policy_links_grow(struct policy_links *links, uint32_t objects)
{
	uint32_t *newer;
	uint32_t *older;

	if (objects <= links->objects)
		return true;
	newer = realloc(links->newer, objects * sizeof(*newer));
	if (!newer)
		return false;
	links->newer = newer;
	older = realloc(links->older, objects * sizeof(*older));
	if (!older)
		return false;
	links->older = older;
	for (uint32_t i = links->objects; i < objects; i++)
		newer[i] = older[i] = POLICY_NOTHING;
	links->objects = objects;
	return true;
}

void policy_links_free(struct policy_links *links)
{
	free(links->newer);
	free(links->older);
	*links = (struct policy_links){ 0 };
}

struct policy_queue policy_queue_empty(void)
{
	return (struct policy_queue){ .newest = POLICY_NOTHING, .oldest = POLICY_NOTHING };
}

void policy_queue_push(struct policy_links *links, struct policy_queue *queue, uint32_t object)
{
	links->newer[object] = POLICY_NOTHING;
	links->older[object] = queue->newest;
	if (queue->newest != POLICY_NOTHING)
		links->newer[queue->newest] = object;
	else
		queue->oldest = object;
	queue->newest = object;
	queue->count++;
}

void policy_queue_take(struct policy_links *links, struct policy_queue *queue, uint32_t object)
{
	uint32_t newer = links->newer[object];
	uint32_t older = links->older[object];

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

bool policy_bytes_grow(uint8_t **bytes, uint32_t from, uint32_t to)
{
	uint8_t *more;

	if (to <= from)
		return true;
	more = realloc(*bytes, to);
	if (!more)
		return false;
	memset(more + from, 0, to - from);
	*bytes = more;
	return true;
}
