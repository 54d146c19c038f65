/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of the TA's stack and heap a call takes. */
#ifndef WORLDWISE_APPS_PQC_MEMORY_H
#define WORLDWISE_APPS_PQC_MEMORY_H

#include <tee_internal_api.h>

/* How deep the stack goes in a call, in bytes. The call must succeed. */
TEE_Result memory_stack(int (*run)(void), uint32_t *bytes);

/*
 * The fewest bytes of free heap, in one piece, with which a call succeeds: with what the allocator adds to each piece and
 * with the gaps between them, to MEMORY_STEP bytes. A call that lacks memory must fail and must leave nothing allocated.
 */
TEE_Result memory_heap(int (*run)(void), uint32_t *bytes);

#define MEMORY_STEP 16

#endif /* WORLDWISE_APPS_PQC_MEMORY_H */
