/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * These headers stand in for OP-TEE's of the same names where its crypto libraries are compiled for Linux. Here: the
 * scratch memory of their big numbers comes from libc's allocator, as in any Linux program.
 */
#ifndef MEMPOOL_H
#define MEMPOOL_H

#include <stdlib.h>

#define MEMPOOL_ALIGN _Alignof(max_align_t)

struct mempool {
	int unused;
};

extern struct mempool *mempool_default;

static inline struct mempool *mempool_alloc_pool(void *data, size_t size, void (*release)(void *data, size_t size))
{
	static struct mempool pool;

	(void)data;
	(void)size;
	(void)release;
	return &pool;
}

static inline void *mempool_alloc(struct mempool *pool, size_t size)
{
	(void)pool;
	return malloc(size);
}

static inline void *mempool_calloc(struct mempool *pool, size_t count, size_t size)
{
	(void)pool;
	return calloc(count, size);
}

static inline void mempool_free(struct mempool *pool, void *memory)
{
	(void)pool;
	free(memory);
}

#endif /* MEMPOOL_H */
