/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One array of entries. Each that is taken is in a chain of the hash table, and in the list of use, whose head was used
 * last. Free ones are in a list of their own, by the same links. Numbers instead of pointers: half the size, and NO_ENTRY
 * is one that the array never has.
 */
#include "cache.h"

#include "siphash.h"

#define NO_ENTRY UINT32_MAX

struct entry {
	uint32_t chain; /* the next with the same head */
	uint32_t newer;
	uint32_t older; /* or the next free one */
	struct id id;
	struct key key;
};

static struct {
	struct entry *entries;
	uint32_t *heads;
	uint32_t head_mask;
	uint32_t capacity;
	uint32_t count;
	uint32_t newest;
	uint32_t oldest;
	uint32_t free;
	uint64_t evictions;
} cache;

TEE_Result cache_open(size_t bytes)
{
	uint32_t heads = 1;
	uint32_t number;

	cache_close();
	/* As many heads as the power of two below the entries, so that four bytes for each are enough. */
	cache.capacity = (uint32_t)(bytes / (sizeof(struct entry) + sizeof(uint32_t)));
	if (!cache.capacity)
		return TEE_SUCCESS;
	while (heads <= cache.capacity / 2)
		heads *= 2;

	cache.entries = TEE_Malloc(cache.capacity * sizeof(struct entry), TEE_MALLOC_FILL_ZERO);
	cache.heads = TEE_Malloc(heads * sizeof(uint32_t), TEE_MALLOC_FILL_ZERO);
	if (!cache.entries || !cache.heads) {
		cache_close();
		return TEE_ERROR_OUT_OF_MEMORY;
	}
	cache.head_mask = heads - 1;
	for (number = 0; number < heads; number++)
		cache.heads[number] = NO_ENTRY;
	for (number = 0; number < cache.capacity; number++)
		cache.entries[number].older = number + 1 < cache.capacity ? number + 1 : NO_ENTRY;
	cache.free = 0;
	cache.newest = NO_ENTRY;
	cache.oldest = NO_ENTRY;
	return TEE_SUCCESS;
}

void cache_close(void)
{
	uint64_t evictions = cache.evictions;

	if (cache.entries)
		wipe(cache.entries, cache.capacity * sizeof(struct entry));
	TEE_Free(cache.entries);
	TEE_Free(cache.heads);
	TEE_MemFill(&cache, 0, sizeof(cache));
	cache.evictions = evictions;
}

static uint32_t *head_of(const struct id *id)
{
	return &cache.heads[siphash(id) & cache.head_mask];
}

static uint32_t find(const struct id *id)
{
	uint32_t number;

	if (!cache.capacity)
		return NO_ENTRY;
	number = *head_of(id);
	while (number != NO_ENTRY && !id_equal(&cache.entries[number].id, id))
		number = cache.entries[number].chain;
	return number;
}

static void take_from_list(uint32_t number)
{
	const struct entry *entry = &cache.entries[number];

	if (entry->newer != NO_ENTRY)
		cache.entries[entry->newer].older = entry->older;
	else
		cache.newest = entry->older;
	if (entry->older != NO_ENTRY)
		cache.entries[entry->older].newer = entry->newer;
	else
		cache.oldest = entry->newer;
}

static void put_first(uint32_t number)
{
	struct entry *entry = &cache.entries[number];

	entry->newer = NO_ENTRY;
	entry->older = cache.newest;
	if (cache.newest != NO_ENTRY)
		cache.entries[cache.newest].newer = number;
	else
		cache.oldest = number;
	cache.newest = number;
}

static void release(uint32_t number)
{
	struct entry *entry = &cache.entries[number];
	uint32_t *link = head_of(&entry->id);

	while (*link != number)
		link = &cache.entries[*link].chain;
	*link = entry->chain;
	take_from_list(number);

	wipe(entry, sizeof(*entry));
	entry->older = cache.free;
	cache.free = number;
	cache.count--;
}

const struct key *cache_get(const struct id *id)
{
	uint32_t number = find(id);

	if (number == NO_ENTRY)
		return NULL;
	if (number != cache.newest) {
		take_from_list(number);
		put_first(number);
	}
	return &cache.entries[number].key;
}

bool cache_has(const struct id *id)
{
	return find(id) != NO_ENTRY;
}

bool cache_full(void)
{
	return cache.count == cache.capacity;
}

void cache_put(const struct id *id, const struct key *key)
{
	uint32_t number = find(id);
	uint32_t *head;

	if (!cache.capacity)
		return;
	if (number != NO_ENTRY) {
		cache.entries[number].key = *key;
		(void)cache_get(id);
		return;
	}
	if (cache.free == NO_ENTRY) {
		release(cache.oldest);
		cache.evictions++;
	}
	number = cache.free;
	cache.free = cache.entries[number].older;
	cache.entries[number].id = *id;
	cache.entries[number].key = *key;
	head = head_of(id);
	cache.entries[number].chain = *head;
	*head = number;
	put_first(number);
	cache.count++;
}

bool cache_remove(const struct id *id)
{
	uint32_t number = find(id);

	if (number == NO_ENTRY)
		return false;
	release(number);
	return true;
}

uint32_t cache_capacity(void)
{
	return cache.capacity;
}

uint32_t cache_count(void)
{
	return cache.count;
}

uint32_t cache_bytes(void)
{
	return cache.count * (uint32_t)(sizeof(struct entry) + sizeof(uint32_t));
}

uint64_t cache_evictions(void)
{
	return cache.evictions;
}
