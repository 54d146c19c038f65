/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's stack: painted, and looked at afterwards. */
#ifndef WORLDWISE_MCU_START_H
#define WORLDWISE_MCU_START_H

#include <stddef.h>
#include <stdint.h>

#define STACK_PAINT 0x5AFE57ACu

extern uint32_t stack_bottom[];

/* Paints from the stack's end up to `from`; within its caller, whose callees' frames would be painted over. */
static inline __attribute__((always_inline)) void stack_paint(uint32_t *from)
{
	/* Volatile, for the compiler not to make it a call of memset(). */
	for (volatile uint32_t *word = stack_bottom; word < from; word++)
		*word = STACK_PAINT;
}

/* How many bytes below `from` have been written since. */
static inline __attribute__((always_inline)) size_t stack_painted_over(const uint32_t *from)
{
	const volatile uint32_t *word = stack_bottom;

	while (word < from && *word == STACK_PAINT)
		word++;
	return (size_t)((const volatile char *)from - (const volatile char *)word);
}

#endif /* WORLDWISE_MCU_START_H */
