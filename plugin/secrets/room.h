/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that is there, or the emulator ends. */
#ifndef WORLDWISE_SECRETS_ROOM_H
#define WORLDWISE_SECRETS_ROOM_H

#include <stdio.h>
#include <stdlib.h>

static inline void *room_or_end(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "secrets: there is no memory for what was executed\n");
	exit(1);
}

static inline void *room_zeroed(size_t count, size_t size)
{
	return room_or_end(calloc(count, size));
}

/* An array with room for twice as many. */
static inline void *room_doubled(void *memory, size_t *count, size_t size)
{
	*count = *count ? 2 * *count : 4096;
	return room_or_end(realloc(memory, *count * size));
}

static inline void room_free(void *memory)
{
	free(memory);
}

#endif /* WORLDWISE_SECRETS_ROOM_H */
