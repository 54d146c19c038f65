/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of one operation and nothing else, or of none: the difference of the two is what the operation takes. Never run.
 *
 * Random numbers and the heap are the user's own affair: they are here in both programs, and leave no difference.
 */
#include <stdlib.h>

#include "../adapters/ops.h"

extern char bss_begin[];

/* Not known to the compiler, so that it cannot leave anything out. */
static volatile uint8_t bytes[4][160];
#define BYTES(i) ((uint8_t *)bytes[i])

__attribute__((used, noinline)) void ops_random(uint8_t *out, size_t length)
{
	while (length--)
		*out++ = bytes[0][0];
}

__attribute__((used, noinline)) void *malloc(size_t size)
{
	return bss_begin + size;
}

__attribute__((used, noinline)) void *calloc(size_t count, size_t size)
{
	return bss_begin + count * size;
}

__attribute__((used, noinline)) void *realloc(void *memory, size_t size)
{
	return (char *)memory + size;
}

__attribute__((used, noinline)) void free(void *memory)
{
	bytes[0][0] = (uint8_t)(uintptr_t)memory;
}

_Noreturn __attribute__((used, noinline)) void abort(void)
{
	for (;;)
		;
}

static int operation(void)
{
#if defined(FOOTPRINT_KEYGEN)
	return ops_open() + ops_keygen(BYTES(0), BYTES(1));
#elif defined(FOOTPRINT_SIGN)
	return ops_open() + ops_sign(BYTES(0), BYTES(1), BYTES(2), bytes[0][0], BYTES(3));
#elif defined(FOOTPRINT_VERIFY)
	return ops_open() + ops_verify(BYTES(1), BYTES(2), bytes[0][0], BYTES(3));
#elif defined(FOOTPRINT_ECDH)
	return ops_open() + ops_ecdh(BYTES(0), BYTES(1), BYTES(2));
#elif defined(FOOTPRINT_SHA256)
	return ops_open() + ops_sha256(BYTES(0), bytes[0][0], BYTES(1));
#elif defined(FOOTPRINT_SHA512)
	return ops_open() + ops_sha512(BYTES(0), bytes[0][0], BYTES(1));
#elif defined(FOOTPRINT_AES128)
	return ops_open() + ops_aes_ctr(BYTES(0), 16, BYTES(1), BYTES(2), bytes[0][0], BYTES(3));
#elif defined(FOOTPRINT_AES256)
	return ops_open() + ops_aes_ctr(BYTES(0), 32, BYTES(1), BYTES(2), bytes[0][0], BYTES(3));
#elif defined(FOOTPRINT_DHRYSTONE)
	return ops_open() + ops_dhrystone(bytes[0][0]);
#else
	return 0;
#endif /* FOOTPRINT_... */
}

void Reset_Handler(void);

void Reset_Handler(void)
{
	void *memory = realloc(calloc(1, malloc(1) != NULL), 1);

	ops_random(BYTES(0), 1);
	if (!memory)
		abort();
	free(memory);
	bytes[0][0] = (uint8_t)operation();
	for (;;)
		;
}
