/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cycles of a chip, counted by the core. A cycle is a tick of SysTick, which every core of these but the nRF51's has; where
 * the core has DWT_CYCCNT as well, that gives the count. DWT_CYCCNT has 32 bits, which the ticks of SysTick lengthen.
 */
#ifndef WORLDWISE_MCU_CYCLES_H
#define WORLDWISE_MCU_CYCLES_H

#include <stdint.h>

/* Finds the counter that the core has, starts it if it is DWT_CYCCNT, and says its name. Without any the program ends. */
const char *cycles_counter(void);

/* DWT_CYCCNT; or what never changes, if the core has none. */
extern const volatile uint32_t *cycles_source;

/* Whether `cycles_source` counts. */
int cycles_counted(void);

/* The number next to `ticks` whose lowest 32 bits are `cycles`. */
static inline uint64_t cycles_lengthened(uint64_t ticks, uint32_t cycles)
{
	return ticks + (uint64_t)(int64_t)(int32_t)(cycles - (uint32_t)ticks);
}

#endif /* WORLDWISE_MCU_CYCLES_H */
