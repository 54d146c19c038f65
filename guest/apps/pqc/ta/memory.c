/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"

#include <tee_internal_api_extensions.h>

#include "user_ta_header_defines.h"

/* Less than TA_STACK_SIZE by far more than what is above this file's functions. */
#define STACK_PAINTED (56 * 1024)
#define PAINT 0x5ca1ab1e0ddba11ULL

static int run_nothing(void)
{
	return 0;
}

/*
 * What is below this function's frame is painted, and looked at afterwards. What is read and written there is nobody's
 * memory, as far as the compiler knows, hence assembly's view of where it is.
 */
static __attribute__((noinline)) uint32_t depth_of(int (*run)(void), int *result)
{
	volatile uint64_t *top;
	volatile uint64_t *low;

	__asm__ volatile("mov %0, sp" : "=r"(top)::"memory");
	for (size_t i = 1; i <= STACK_PAINTED / sizeof(*top); i++)
		top[-(ptrdiff_t)i] = PAINT;
	*result = run();
	for (low = top - STACK_PAINTED / sizeof(*top); low < top && *low == PAINT; low++)
		;
	return (uint32_t)((uintptr_t)top - (uintptr_t)low);
}

TEE_Result memory_stack(int (*run)(void), uint32_t *bytes)
{
	int result;
	uint32_t nothing = depth_of(run_nothing, &result);

	*bytes = depth_of(run, &result) - nothing;
	return result ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

/* The largest piece that the heap has, in bytes. */
static size_t largest_piece(void)
{
	size_t there = 0;
	size_t lacking = TA_DATA_SIZE;

	while (lacking - there > MEMORY_STEP) {
		size_t middle = there + (lacking - there) / 2;
		void *piece = TEE_Malloc(middle, TEE_USER_MEM_HINT_NO_FILL_ZERO);

		if (piece)
			there = middle;
		else
			lacking = middle;
		TEE_Free(piece);
	}
	return there;
}

/* Whether a call succeeds with a heap that is full. Each piece that fills it has the address of the one before. */
static bool needs_none(int (*run)(void))
{
	void **last = NULL;
	bool done;

	for (size_t size = largest_piece(); size >= sizeof(last); size = largest_piece()) {
		void **piece = TEE_Malloc(size, TEE_USER_MEM_HINT_NO_FILL_ZERO);

		if (!piece)
			break;
		*piece = last;
		last = piece;
	}
	done = !run();
	while (last) {
		void **piece = last;

		last = *piece;
		TEE_Free(piece);
	}
	return done;
}

TEE_Result memory_heap(int (*run)(void), uint32_t *bytes)
{
	size_t whole = largest_piece();
	size_t enough = whole;
	size_t lacking = 0;

	if (run())
		return TEE_ERROR_GENERIC;
	if (needs_none(run))
		enough = 0;
	while (enough - lacking > MEMORY_STEP) {
		size_t middle = lacking + (enough - lacking) / 2;
		void *ballast = TEE_Malloc(whole - middle, TEE_USER_MEM_HINT_NO_FILL_ZERO);

		if (!ballast)
			return TEE_ERROR_OUT_OF_MEMORY;
		if (run())
			lacking = middle;
		else
			enough = middle;
		TEE_Free(ballast);
	}
	*bytes = (uint32_t)enough;
	/* A call that left something behind would have made what followed it fail. */
	return largest_piece() == whole ? TEE_SUCCESS : TEE_ERROR_GENERIC;
}
