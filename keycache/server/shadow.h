/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sealed records of the normal world: a table in memory, and a log on disk that it is made from at the next start.
 *
 * The shadow is there for speed. The TA's secure storage is what keeps a key: a record that is lost, torn, old or forged
 * costs one slow read, never a key. So the log may be short of its last entries after a power cut, entries that do not
 * fit their checksum are passed over, and nobody has to trust the disk.
 */
#ifndef KEYCACHE_SHADOW_H
#define KEYCACHE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal.h"
#include "keycache_ta.h"

#define SHADOW_NONE UINT32_MAX

struct shadow;

struct shadow_counts {
	uint32_t records;
	struct journal_counts log;
};

/* A directory that is there or can be made; NULL keeps the records in memory alone. `problem` says what went wrong. */
struct shadow *shadow_open(const char *directory, char *problem, size_t size);
void shadow_close(struct shadow *shadow);

/*
 * Slots are small numbers that stay the same as long as the record is there. An id is a client's, or the name of its previous key
 * (id.h), which has a slot of its own.
 */
uint32_t shadow_find(const struct shadow *shadow, const char *id);
const struct keycache_record *shadow_record(const struct shadow *shadow, uint32_t slot);
/* Adds or replaces; SHADOW_NONE if there is no memory. */
uint32_t shadow_put(struct shadow *shadow, const struct keycache_record *record);
void shadow_remove(struct shadow *shadow, const char *id);
/* Writes what is new to the disk and waits for it. */
bool shadow_sync(struct shadow *shadow);
/* Hands what is new to the operating system, without waiting. */
bool shadow_write(struct shadow *shadow);
bool shadow_dirty(const struct shadow *shadow);
/* For what else is kept beside the records; -1 if they are in memory alone. It stays the shadow's. */
int shadow_directory(const struct shadow *shadow);
struct shadow_counts shadow_counts(const struct shadow *shadow);

#endif /* KEYCACHE_SHADOW_H */
