/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flash.h"

#include <string.h>

#define FLASH_NONE UINT64_MAX

bool flash_set(struct flash *flash, const char *name, uint32_t value)
{
	const struct {
		const char *name;
		uint32_t *value;
		uint32_t most;
	} settings[] = {
		{ "wait", &flash->wait, 64 },
		{ "line", &flash->line, 256 },
		{ "buffers", &flash->buffers, FLASH_MAX_LINES },
		{ "cache", &flash->cache, FLASH_MAX_LINES },
		{ "data_cache", &flash->data_cache, FLASH_MAX_LINES },
		{ "ahead", &flash->ahead, 8 },
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcmp(settings[i].name, name) != 0)
			continue;
		*settings[i].value = value;
		return value <= settings[i].most;
	}
	return false;
}

void flash_forget(struct flash *flash)
{
	for (size_t i = 0; i < FLASH_MAX_LINES; i++) {
		flash->code[i] = (struct flash_line){ .tag = FLASH_NONE };
		flash->data[i] = (struct flash_line){ .tag = FLASH_NONE };
	}
	flash->free = 0;
	flash->clock = 0;
	flash->last = FLASH_NONE;
}

static struct flash_line *find(struct flash_line *lines, uint32_t count, uint64_t tag)
{
	for (uint32_t i = 0; i < count; i++)
		if (lines[i].tag == tag)
			return &lines[i];
	return NULL;
}

/* Puts a line in the place of the one that was used least recently. */
static struct flash_line *replace(struct flash *flash, struct flash_line *lines, uint32_t count, uint64_t tag,
				  uint64_t ready)
{
	struct flash_line *oldest = &lines[0];

	for (uint32_t i = 1; i < count; i++)
		if (lines[i].used < oldest->used)
			oldest = &lines[i];
	*oldest = (struct flash_line){ .tag = tag, .ready = ready, .used = ++flash->clock };
	return oldest;
}

/* Reads a line at cycle `now` or when the flash is free. Returns when the core has it; 0 wait states are `now`. */
static uint64_t read_line(struct flash *flash, uint64_t now)
{
	uint64_t start = now > flash->free ? now : flash->free;

	flash->free = start + flash->wait + 1;
	return start + flash->wait;
}

static uint64_t fetch_line(struct flash *flash, uint64_t tag, uint64_t now)
{
	uint32_t count = flash->cache ? flash->cache : flash->buffers;
	struct flash_line *line = find(flash->code, count, tag);
	uint64_t ready;

	if (!line)
		line = replace(flash, flash->code, count, tag, read_line(flash, now));
	line->used = ++flash->clock;
	ready = line->ready;
	for (uint32_t i = 1; i <= flash->ahead; i++)
		if (!find(flash->code, count, tag + i))
			replace(flash, flash->code, count, tag + i, read_line(flash, ready > now ? ready : now));
	return ready > now ? ready - now : 0;
}

uint64_t flash_fetch(struct flash *flash, uint64_t address, uint32_t bytes, uint64_t now)
{
	uint64_t first;
	uint64_t last;
	uint64_t wait = 0;

	if (!flash->wait || address >= FLASH_END)
		return 0;
	first = address / flash->line;
	last = (address + bytes - 1) / flash->line;
	if (first == flash->last && last == flash->last)
		return 0;
	for (uint64_t tag = first; tag <= last; tag++)
		wait += fetch_line(flash, tag, now + wait);
	flash->last = last;
	return wait;
}

uint64_t flash_load(struct flash *flash, uint64_t address, uint32_t bytes, uint64_t now)
{
	uint64_t tag = address / (flash->line ? flash->line : 1);
	struct flash_line *line;
	uint64_t ready;

	(void)bytes; /* aligned words lie in one line; of others the second half is not looked at */
	if (!flash->wait || address >= FLASH_END)
		return 0;
	line = find(flash->data, flash->data_cache, tag);
	if (line) {
		line->used = ++flash->clock;
		return 0;
	}
	ready = read_line(flash, now);
	if (flash->data_cache)
		replace(flash, flash->data, flash->data_cache, tag, ready);
	return ready - now;
}
