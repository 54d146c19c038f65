/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * First fit over one list of blocks in the order of their addresses. Small, and the same on every board, so that what a
 * library spends on allocation compares.
 */
#include "heap.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct block {
	alignas(8) size_t size; /* with this header */
	struct block *next;     /* of the free ones */
};

extern char heap_begin[];
extern char heap_end[];

static struct block *first_free;
static char *untouched; /* behind it nothing was ever given out */
static size_t used;
static size_t peak;
static size_t refused;

size_t heap_used(void)
{
	return used;
}

size_t heap_peak(void)
{
	return peak;
}

size_t heap_refused(void)
{
	return refused;
}

void heap_forget_peak(void)
{
	peak = used;
}

/* Not malloc() itself: of a calloc() that calls it and clears the memory, the compiler makes a call of calloc(). */
static void *take(size_t size)
{
	struct block **link = &first_free;
	struct block *found;

	if (size > (size_t)(heap_end - heap_begin)) {
		refused = size;
		return NULL;
	}
	size = (size + sizeof(struct block) + 7) & ~(size_t)7;
	while (*link && (*link)->size < size)
		link = &(*link)->next;
	found = *link;
	if (!found) {
		if (!untouched)
			untouched = heap_begin;
		if (size > (size_t)(heap_end - untouched)) {
			refused = size;
			return NULL;
		}
		found = (struct block *)(void *)untouched;
		untouched += size;
		found->size = size;
	} else if (found->size - size > sizeof(struct block)) {
		struct block *rest = (struct block *)(void *)((char *)found + size);

		rest->size = found->size - size;
		rest->next = found->next;
		*link = rest;
		found->size = size;
	} else {
		*link = found->next;
	}
	used += found->size;
	if (used > peak)
		peak = used;
	return found + 1;
}

void *malloc(size_t size)
{
	return take(size);
}

void free(void *memory)
{
	struct block *block;
	struct block *before = NULL;
	struct block *after = first_free;

	if (!memory)
		return;
	block = (struct block *)memory - 1;
	used -= block->size;
	while (after && after < block) {
		before = after;
		after = after->next;
	}
	block->next = after;
	if (after && (char *)block + block->size == (char *)after) {
		block->size += after->size;
		block->next = after->next;
	}
	if (!before) {
		first_free = block;
	} else if ((char *)before + before->size == (char *)block) {
		before->size += block->size;
		before->next = block->next;
	} else {
		before->next = block;
	}
}

void *calloc(size_t count, size_t size)
{
	void *memory;

	if (size && count > SIZE_MAX / size)
		return NULL;
	memory = take(count * size);
	if (memory)
		memset(memory, 0, count * size);
	return memory;
}

void *realloc(void *memory, size_t size)
{
	void *moved;
	size_t old;

	if (!memory)
		return malloc(size);
	old = ((struct block *)memory - 1)->size - sizeof(struct block);
	if (size <= old)
		return memory;
	moved = malloc(size);
	if (moved) {
		memcpy(moved, memory, old);
		free(memory);
	}
	return moved;
}
