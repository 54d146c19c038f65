/* SPDX-License-Identifier: BSD-2-Clause */
/* What is stored outside the TEE, taken and put back by somebody who has the whole normal world. */
#ifndef WORLDWISE_APPS_FAULTS_STORE_H
#define WORLDWISE_APPS_FAULTS_STORE_H

#include "../journal.h"

/* MAX_STORED_FILES, how many there can be, comes from the recipe: each app knows its own. */

struct stored_file {
	char name[JOURNAL_NAME];
	uint8_t *bytes;
	size_t size;
};

/* All files of the REE file system and, of a machine that has it, the RPMB device. */
struct store {
	struct stored_file files[MAX_STORED_FILES];
	size_t count;
	struct device device;
};

/* Every function ends the program by bench_fail() if it cannot do what it should. */

void store_take(struct store *store);

/* The files and the device's memory become these; whatever else was there is gone. */
void store_put(const struct store *store);

struct store *store_copy(const struct store *store);

/* A file by its name; NULL if there is none. */
struct stored_file *store_file(struct store *store, const char *name);

void store_remove(struct store *store, const char *name);

void store_set(struct store *store, const char *name, const uint8_t *bytes, size_t size);

/* The same state as a journal on the host, and back: a whole state and the writes of a stopped machine read alike. */
void store_save(const struct store *store, const char *host_file);
void store_load(struct store *store, const char *host_file);

#endif /* WORLDWISE_APPS_FAULTS_STORE_H */
