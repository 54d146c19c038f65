/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a key is for, in words: "seal,to,named". As SET's USE and the authority's --use have it. No list is every use.
 */
#ifndef KEYCACHE_USE_H
#define KEYCACHE_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "keycache_ta.h"

/* A word, and what a key that is not for it has. The last one is a restriction itself. */
static const struct {
	const char *word;
	uint32_t not_for;
} keycache_uses[] = {
	{ "seal", KEYCACHE_NO_SEAL }, { "open", KEYCACHE_NO_OPEN }, { "from", KEYCACHE_NO_FROM },
	{ "to", KEYCACHE_NO_TO },     { "get", KEYCACHE_NO_GET },
};

#define KEYCACHE_USES (sizeof(keycache_uses) / sizeof(keycache_uses[0]))
#define KEYCACHE_NO_USE (KEYCACHE_NO_SEAL | KEYCACHE_NO_OPEN | KEYCACHE_NO_FROM | KEYCACHE_NO_TO | KEYCACHE_NO_GET)
#define KEYCACHE_USE_NAMED "named"

static inline bool keycache_use_is(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && !strncasecmp(text, word, size);
}

/* Restrictions as SET takes them. NULL, or what is wrong with the list. */
static inline const char *keycache_use_read(const char *list, size_t size, uint32_t *restrictions)
{
	const char *end = list + size;
	uint32_t allowed = 0;

	*restrictions = 0;
	for (const char *text = list; text <= end;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		size_t length = (size_t)((comma ? comma : end) - text);
		size_t i = 0;

		while (i < KEYCACHE_USES && !keycache_use_is(text, length, keycache_uses[i].word))
			i++;
		if (i < KEYCACHE_USES)
			allowed |= keycache_uses[i].not_for;
		else if (keycache_use_is(text, length, KEYCACHE_USE_NAMED))
			*restrictions |= KEYCACHE_NAMED;
		else
			return "a use is some of seal,open,from,to,get,named, with commas and no spaces";
		text += length + 1;
	}
	if (allowed & KEYCACHE_NO_GET && !(allowed & KEYCACHE_NO_OPEN))
		return "no use is get without open: who gets a key opens by it";
	if (allowed)
		*restrictions |= KEYCACHE_NO_USE & ~allowed;
	return NULL;
}

/* Whether a list that keycache_use_read takes has a word. */
static inline bool keycache_use_has(const char *list, const char *word)
{
	for (const char *text = list; text; text = strchr(text, ',')) {
		text += *text == ',';
		if (keycache_use_is(text, strcspn(text, ","), word))
			return true;
	}
	return false;
}

/* And back, of a record's flags. */
#define KEYCACHE_USE_BYTES 32
static inline void keycache_use_write(char text[KEYCACHE_USE_BYTES], uint32_t flags)
{
	if (!(flags & KEYCACHE_GETTABLE))
		flags |= KEYCACHE_NO_GET;
	*text = 0;
	for (size_t i = 0; i < KEYCACHE_USES; i++) {
		if (flags & keycache_uses[i].not_for)
			continue;
		if (*text)
			(void)strcat(text, ",");
		(void)strcat(text, keycache_uses[i].word);
	}
	if (flags & KEYCACHE_NAMED) {
		if (*text)
			(void)strcat(text, ",");
		(void)strcat(text, KEYCACHE_USE_NAMED);
	}
}

#endif /* KEYCACHE_USE_H */
