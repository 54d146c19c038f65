/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dual_cache.h"

#include <string.h>

#include "cache.h"

static bool is_power_of_two(uint32_t value)
{
	return value && !(value & (value - 1));
}

bool dual_cache_fits(uint32_t line_bytes, uint32_t bus_bytes, uint32_t kib, uint32_t ways)
{
	uint64_t lines = line_bytes ? (uint64_t)kib * 1024 / line_bytes : 0;

	return is_power_of_two(line_bytes) && is_power_of_two(bus_bytes) && bus_bytes <= line_bytes &&
	       is_power_of_two(ways) && lines <= DUAL_LINES && is_power_of_two((uint32_t)lines) && lines >= ways;
}

void dual_cache_forget(struct dual_cache *cache, const struct dual_fill *fill, uint32_t kib, uint32_t ways)
{
	memset(cache, 0, sizeof(*cache));
	if (!fill->line_bytes)
		return;
	cache->ways = ways;
	cache->sets = kib * 1024 / fill->line_bytes / ways;
}

uint64_t dual_cache_when(struct dual_cache *cache, const struct dual_fill *fill, uint64_t address, uint64_t now,
			 uint64_t *bus)
{
	uint64_t line = address >> fill->line_bits;
	uint32_t parts = 1u << (fill->line_bits - fill->bus_bits);
	uint32_t part = (uint32_t)(address >> fill->bus_bits) & (parts - 1);
	uint64_t there;

	if (cache_touch(cache->lines, cache->sets, cache->ways, line)) {
		if (cache->filled != line + 1)
			return now;
		there = cache->came + (uint64_t)((part - cache->asked) & (parts - 1)) * fill->bus_cycles;
		return there > now ? there : now;
	}
	cache->filled = line + 1;
	cache->asked = part;
	cache->came = (now > *bus ? now : *bus) + fill->first;
	*bus = cache->came + (uint64_t)(parts - 1) * fill->bus_cycles;
	return cache->came;
}
