/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of a campaign, as the TA has them. */
#ifndef WORLDWISE_APPS_FAULTS_OBJECT_H
#define WORLDWISE_APPS_FAULTS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tee_client_api.h>

#include "../faults.h"

#define OBJECT "object"
#define RENAMED "renamed"
#define NEIGHBOUR "neighbour"
#define LATER "later"

/* What an object may have in it: so many bytes, made from a number. */
struct content {
	uint8_t bytes[FAULTS_MAX_OBJECT];
	size_t size;
};

/* How a read went: an error of the TEE, or a content. */
struct answer {
	TEEC_Result result;
	bool at_load; /* the error came before the TA was asked */
	struct content content;
};

void content_make(struct content *content, size_t size, uint32_t number);

bool content_same(const struct content *a, const struct content *b);

/* Chooses the storage by a case's parameter: `ree` and `ree-rpmb` are one to the TA, `rpmb` is the other. */
void object_storage(const char *name);

/* Opens the TEE. */
void object_start(void);

/* Ends every session, and with the last the TA is gone; the next call loads it. */
void object_unload(void);

/* What ends in `_by_other` asks another TA of the same program. */

TEEC_Result object_create(const char *name, const struct content *content);
TEEC_Result object_overwrite(const char *name, const struct content *content);
TEEC_Result object_append(const char *name, const struct content *content);
TEEC_Result object_rename(const char *name, const char *wanted);
TEEC_Result object_delete(const char *name);
TEEC_Result object_replace(const char *name, const struct content *content);
TEEC_Result object_create_by_other(const char *name, const struct content *content);
void object_read(const char *name, struct answer *answer);
void object_read_by_other(const char *name, struct answer *answer);

#endif /* WORLDWISE_APPS_FAULTS_OBJECT_H */
