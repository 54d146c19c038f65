/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCACHE_ID_H
#define KEYCACHE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "keycache_ta.h"

/* An id that is never set: who has no right is answered about this one, by the code that answers about any other. */
#define ID_ABSENT "!absent"

struct id {
	char text[KEYCACHE_ID_BYTES + 1];
};

/* Printable and without spaces. */
static inline bool id_valid(const char *text, size_t size)
{
	if (!size || size > KEYCACHE_ID_BYTES)
		return false;
	for (size_t i = 0; i < size; i++)
		if (text[i] < '!' || text[i] > '~')
			return false;
	return true;
}

static inline bool id_make(struct id *id, const void *text, size_t size)
{
	memset(id, 0, sizeof(*id));
	if (!id_valid(text, size))
		return false;
	memcpy(id->text, text, size);
	return strcmp(id->text, ID_ABSENT) != 0;
}

/* FNV-1a, for tables. */
static inline uint32_t id_hash(const void *text, size_t size)
{
	const uint8_t *bytes = text;
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum ^ (sum >> 15);
}

#endif /* KEYCACHE_ID_H */
