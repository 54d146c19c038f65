/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What CBMC assumes of the functions around those that it proves. A copy may bring any bytes: the normal world writes its memory
 * at any time. What is checked is that all of both places may be used.
 */
#ifndef KEYCACHE_PROOFS_H
#define KEYCACHE_PROOFS_H

#include <stdlib.h>
#include <tee_internal_api.h>

/* Any value: CBMC knows functions of such names. */
bool nondet_bool(void);
uint8_t nondet_byte(void);
size_t nondet_size(void);
uint32_t nondet_result(void);

void TEE_MemMove(void *dest, const void *src, size_t size)
{
	__CPROVER_assert(__CPROVER_r_ok(src, size), "all that is copied may be read");
	__CPROVER_assert(__CPROVER_w_ok(dest, size), "all that is copied has room");
	__CPROVER_havoc_slice(dest, size);
}

void TEE_MemFill(void *buffer, uint8_t x, size_t size)
{
	(void)x;
	__CPROVER_assert(__CPROVER_w_ok(buffer, size), "all that is filled has room");
	__CPROVER_havoc_slice(buffer, size);
}

/* A memory reference as a stranger sends it: any size to twice what is taken, and that much memory or none. */
static inline TEE_Param any_memory(size_t most)
{
	size_t size = nondet_size();
	TEE_Param param;

	__CPROVER_assume(size <= 2 * most);
	param.memref.size = size;
	param.memref.buffer = nondet_bool() ? malloc(size) : NULL;
	return param;
}

#endif /* KEYCACHE_PROOFS_H */
