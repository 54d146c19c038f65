/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCACHE_ID_H
#define KEYCACHE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "keycache_ta.h"

/* An id that is never set: who has no right is answered about this one, by the code that answers about any other. */
#define ID_ABSENT "!absent"

/*
 * What a key is called between server and TA: the client's id, or for the client's previous key ID_PREVIOUS and the id. No client
 * can say the latter: id_make takes printable characters only.
 */
#define ID_PREVIOUS ((char)KEYCACHE_PREVIOUS)

struct id {
	char text[1 + KEYCACHE_ID_BYTES + 1];
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

static inline bool id_is_previous(const char *text)
{
	return *text == ID_PREVIOUS;
}

/* The client's id, of either. */
static inline const char *id_client(const char *text)
{
	return text + id_is_previous(text);
}

/* The name of the key that came before a client's. */
static inline struct id id_previous(const char *client)
{
	struct id id = { { ID_PREVIOUS } };

	memcpy(id.text + 1, client, strnlen(client, KEYCACHE_ID_BYTES));
	return id;
}

/* As the structs of keycache_ta.h have it: the length, with KEYCACHE_PREVIOUS, and the client's id. */
static inline uint8_t id_put(uint8_t id[KEYCACHE_ID_BYTES], const char *text)
{
	const char *client = id_client(text);
	size_t size = strnlen(client, KEYCACHE_ID_BYTES);

	memcpy(id, client, size);
	return (uint8_t)(size | (id_is_previous(text) ? KEYCACHE_PREVIOUS : 0));
}

/* And back. False if it is no id. */
static inline bool id_take(struct id *id, const uint8_t *bytes, uint8_t length)
{
	bool previous = length & KEYCACHE_PREVIOUS;
	size_t size = length & ~KEYCACHE_PREVIOUS;

	memset(id, 0, sizeof(*id));
	if (!id_valid((const char *)bytes, size))
		return false;
	if (previous)
		id->text[0] = ID_PREVIOUS;
	memcpy(id->text + previous, bytes, size);
	return true;
}

#endif /* KEYCACHE_ID_H */
