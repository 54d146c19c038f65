/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "map.h"

#include "room.h"

#define LEAST_ROOM 1024

/* Where a key is, or where it would be put. */
static struct map_entry *place_of(const struct map *map, uint64_t key)
{
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (map->room - 1);

	/* An entry of an earlier generation is free. */
	while (map->entries[at].generation == map->generation + 1 && map->entries[at].key != key)
		at = (at + 1) & (map->room - 1);
	return &map->entries[at];
}

const uint64_t *map_get(const struct map *map, uint64_t key)
{
	const struct map_entry *entry;

	if (!map->room)
		return NULL;
	entry = place_of(map, key);
	return entry->generation == map->generation + 1 ? &entry->value : NULL;
}

static void grow(struct map *map)
{
	struct map old = *map;

	map->room = old.room ? 2 * old.room : LEAST_ROOM;
	map->entries = room_zeroed(map->room, sizeof(*map->entries));
	for (size_t i = 0; i < old.room; i++)
		if (old.entries[i].generation == map->generation + 1)
			*place_of(map, old.entries[i].key) = old.entries[i];
	room_free(old.entries);
}

void map_put(struct map *map, uint64_t key, uint64_t value)
{
	if (2 * (map->used + 1) > map->room)
		grow(map);
	*place_of(map, key) = (struct map_entry){ .key = key, .value = value, .generation = map->generation + 1 };
	map->used++;
}

void map_empty(struct map *map)
{
	map->generation++;
	map->used = 0;
}

void map_free(struct map *map)
{
	room_free(map->entries);
	*map = (struct map){ 0 };
}
