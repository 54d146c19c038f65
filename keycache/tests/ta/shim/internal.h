/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the shim share. */
#ifndef SHIM_INTERNAL_H
#define SHIM_INTERNAL_H

#include "shim.h"

/* Panics with a reason for stderr. */
void shim_panic(const char *why) __attribute__((noreturn));
/* Ends the command at once. */
void shim_power_off(void) __attribute__((noreturn));
/* Panics if any of it is memory of the parameters. */
void shim_private(const void *memory, size_t bytes, const char *function);

/* storage.c */
int shim_storage_open(const char *folder);
void shim_storage_close(void);
/* From now on nothing is written: the TA ends as by a reset. */
void shim_storage_freeze(void);
/* Closes what is open; how much that was. */
unsigned int shim_storage_close_objects(void);

struct __TEE_ObjectHandle {
	bool persistent;
	/* Of a transient one: */
	uint32_t type;
	uint8_t key[32];  /* or a pair's private half */
	size_t key_bytes; /* 0: not initialised */
	uint8_t point[64];
	uint32_t max_bits;
	/* Of a persistent one: */
	struct __TEE_ObjectHandle *next;
	char name[160];
	uint32_t flags;
	uint8_t *data;
	size_t size;
	size_t position;
};

#endif /* SHIM_INTERNAL_H */
