/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sets of a cache whose least recently used line goes. Every model's caches have them. */
#ifndef WORLDWISE_MODEL_CACHE_H
#define WORLDWISE_MODEL_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Whether a line is there; it is afterwards, as the one used last. `lines` are `sets` (a power of two) times `ways`, in
 * each set the one used last first: a line's number plus one, 0 for none.
 */
static inline bool cache_touch(uint64_t *lines, uint32_t sets, uint32_t ways, uint64_t line)
{
	uint64_t *set = &lines[(line & (sets - 1)) * ways];
	uint64_t tag = line + 1;
	uint32_t way = 0;
	bool hit;

	if (set[0] == tag)
		return true;
	while (way < ways - 1 && set[way] != tag)
		way++;
	hit = set[way] == tag;
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = tag;
	return hit;
}

#endif /* WORLDWISE_MODEL_CACHE_H */
