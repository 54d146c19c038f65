/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "cache.h"

static void cache_start(struct cache *cache, uint32_t kib, uint32_t ways, uint32_t line_bytes)
{
	cache->ways = ways && ways <= MOST_WAYS ? ways : MOST_WAYS;
	cache->sets = 1;
	while (cache->sets * 2 * cache->ways * line_bytes <= kib * 1024)
		cache->sets *= 2;
	cache->lines = calloc((size_t)cache->sets * cache->ways, sizeof(*cache->lines));
}

void memory_start(struct memory *memory, const struct table *table)
{
	cache_start(&memory->data, table->data_kib, table->data_ways, table->line_bytes);
	cache_start(&memory->code, table->code_kib, table->code_ways, table->line_bytes);
	cache_start(&memory->second, table->second_kib, table->second_ways, table->line_bytes);
}

static void cache_forget(struct cache *cache)
{
	memset(cache->lines, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->lines));
}

void memory_forget(struct memory *memory)
{
	cache_forget(&memory->data);
	cache_forget(&memory->code);
	cache_forget(&memory->second);
	memset(memory->stored, 0, sizeof(memory->stored));
	memory->last_code_line = 0;
	memory->last_miss = 0;
}

/* Whether a line is there; it is afterwards. */
static bool touch(struct cache *cache, uint64_t line)
{
	return cache_touch(cache->lines, cache->sets, cache->ways, line);
}

static uint32_t behind_first(struct memory *memory, const struct table *table, uint64_t line)
{
	return touch(&memory->second, line) ? table->second_latency : table->memory_latency;
}

uint32_t memory_data(struct memory *memory, const struct table *table, uint64_t address)
{
	uint64_t line = address / table->line_bytes;
	uint32_t latency;

	if (touch(&memory->data, line))
		return 0;
	latency = behind_first(memory, table, line);
	/* Lines in a row: the prefetcher has seen the one before. */
	if (line == memory->last_miss + 1) {
		for (uint32_t i = 1; i <= table->prefetch_lines; i++) {
			touch(&memory->second, line + i);
			touch(&memory->data, line + i);
		}
	}
	memory->last_miss = line;
	return latency;
}

uint32_t memory_code(struct memory *memory, const struct table *table, uint64_t address)
{
	uint64_t line = address / table->line_bytes;

	if (line + 1 == memory->last_code_line)
		return 0;
	memory->last_code_line = line + 1;
	if (touch(&memory->code, line))
		return 0;
	touch(&memory->code, line + 1);
	return behind_first(memory, table, line);
}

static uint8_t mask_of(uint64_t address, uint32_t bytes, uint64_t granule)
{
	uint64_t begin = address > granule * 8 ? address - granule * 8 : 0;
	uint64_t end = address + bytes - granule * 8;

	if (end > 8)
		end = 8;
	return (uint8_t)((0xffu >> (8 - (end - begin))) << begin);
}

void memory_store(struct memory *memory, uint64_t address, uint32_t bytes, uint64_t ready, uint64_t drained)
{
	for (uint64_t granule = address / 8; granule * 8 < address + bytes; granule++) {
		struct stored *stored = &memory->stored[granule % STORED];

		stored->granule = granule + 1;
		stored->ready = ready;
		stored->drained = drained;
		stored->mask = mask_of(address, bytes, granule);
	}
}

uint64_t memory_stored(const struct memory *memory, const struct table *table, uint64_t address, uint32_t bytes,
		       uint64_t now)
{
	uint64_t latest = 0;

	for (uint64_t granule = address / 8; granule * 8 < address + bytes; granule++) {
		const struct stored *stored = &memory->stored[granule % STORED];
		uint8_t wanted = mask_of(address, bytes, granule);
		uint64_t time;

		if (stored->granule != granule + 1 || !(stored->mask & wanted) || stored->drained <= now)
			continue;
		time = (stored->mask & wanted) == wanted ? stored->ready + table->forward_latency
							 : stored->drained + table->forward_fail;
		if (time > latest)
			latest = time;
	}
	return latest;
}
