/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the TA in this process: the Internal Core API on OpenSSL, secure storage in files of a folder.
 *
 * It is stricter than a TEE where that finds mistakes. A panic of the TA, and so everything below, makes the command
 * answer TEE_ERROR_TARGET_DEAD, and the following ones too, until shim_crash and shim_start.
 * - Memory of the parameters must only be copied from by TEE_MemMove, each byte at most once in a command; under
 *   AddressSanitizer every other look at it is an error of its own. It must not be given to any other function.
 * - Operations have OP-TEE's states: what panics there, panics here.
 * - No persistent object may be left open when a command returns.
 *
 * A write to storage is whole or not at all, as OP-TEE's are. A file that was changed reads as corrupt and is removed; an
 * older file in its place is taken, as OP-TEE's REE file system takes an older state of its own.
 * Not for more than one thread.
 */
#ifndef SHIM_H
#define SHIM_H

#include "tee_internal_api.h"

/* Loads the TA, with its storage in `folder`, which is made if need be. Not 0: why stands in stderr. */
int shim_start(const char *folder);
TEE_Result shim_invoke(uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS]);
/* Another client's session in the place of the one that is open, while the TA runs on; shim_start logs in as the last one. */
TEE_Result shim_login(uint32_t login, uint32_t user);
/* One more session, or NULL; and which of the two the calls go to from now on. The caller closes it. */
void *shim_second_session(uint32_t login, uint32_t user);
void shim_swap_session(void **other);
/* Sets a key of a client that nobody's record fits any more, and takes it out of the cache. */
void shim_set_behind(const char *id);
/* Ends it orderly, or as shim_crash does if it has panicked. */
void shim_stop(void);
/* Ends it as a reset does: what is not in storage is lost. */
void shim_crash(void);

/* What the TA did to storage. */
struct shim_counts {
	unsigned int opens;
	unsigned int reads;
	unsigned int writes; /* creations and removals as well */
};

extern struct shim_counts shim_counts;

/*
 * A write has four steps: before it, in the middle, before it takes effect, after it; a removal has two. At the step of
 * this number from now on (1: the first) the power is cut: the command gets no further, and it and all later ones answer
 * TEE_ERROR_TARGET_DEAD until shim_crash and shim_start. 0: never.
 */
void shim_cut(unsigned int step);

/* The write of this number from now on (1: the next) answers `error`; it takes effect if `done`. */
void shim_fail(unsigned int write, TEE_Result error, bool done);
/* The opening or reading of this number from now on (1: the next) answers `error`. Whether one has: shim_failed_read(). */
void shim_fail_read(unsigned int number, TEE_Result error);
bool shim_failed_read(void);
/* Storage holds no more than this; 0: whatever comes. */
void shim_storage_limit(size_t bytes);
/* So many calls of TEE_GenerateRandom from now on give zeros alone. */
void shim_random_zeros(unsigned int calls);
/* TEE_Malloc gives no more than this at a time in all; 0: no limit. */
void shim_memory_limit(size_t bytes);
/* Whether any memory that the TA has allocated holds these bytes. */
bool shim_memory_has(const void *bytes, size_t size);
/* The same of what is static in this program, the TA's and everybody's. */
bool shim_static_has(const void *bytes, size_t size);
/* Memory that the TA frees must not have these bytes: that is a panic. NULL: no such bytes. They must stay where they are. */
void shim_watch(const void *bytes, size_t size);

#endif /* SHIM_H */
