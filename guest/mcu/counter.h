/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counter of a Cortex-M: SysTick, the one that every core has.
 *
 * It has 24 bits and counts down; an interrupt counts how often it came round. Under QEMU's -icount every instruction
 * takes the same virtual time, longer than a tick, so that the number of instructions follows from the number of ticks
 * without a remainder.
 *
 * The interrupt's handler executes COUNTER_HANDLER instructions each time, which are taken off again.
 *
 * With COUNTER_CYCLES, on a chip, what is counted are cycles: see cycles.h. An instruction then stands for a cycle, and a
 * nanosecond for a tick. What the handler takes stays in: some 40 cycles in each round of 2^24.
 */
#ifndef WORLDWISE_MCU_COUNTER_H
#define WORLDWISE_MCU_COUNTER_H

#include <stdint.h>

/* Virtual time: of an instruction, and of a round of so many ticks, which is not quite what the clock makes of it. */
#if !defined(COUNTER_HZ) || !defined(COUNTER_INSTRUCTION_NS) || !defined(COUNTER_ROUND_NS)
#error "COUNTER_HZ and the like say how the counter and the instructions keep time: see targets/board.py"
#endif /* COUNTER_HZ ... */

#if defined(COUNTER_CYCLES)
#include "cycles.h"

#define COUNTER_NAME cycles_counter()
#define COUNTER_UNIT "cycles"
#define COUNTER_HANDLER 0u
#else
#define COUNTER_NAME "systick"
#define COUNTER_UNIT "instructions"
#define COUNTER_HANDLER 5u
#endif /* COUNTER_CYCLES */

struct counter_reading {
	uint32_t value;   /* of the counter */
	uint32_t pending; /* ICSR: bit 26 if the interrupt waits */
	uint32_t rounds;  /* that the interrupt has counted */
	uint32_t masked;  /* whether interrupts were disabled before the reading, which enables them */
#if defined(COUNTER_CYCLES)
	uint32_t cycles; /* of the core's cycle counter, if it has one */
#endif                   /* COUNTER_CYCLES */
};

extern volatile uint32_t counter_rounds;

#define COUNTER_CVR (*(volatile const uint32_t *)0xE000E018u)
#define COUNTER_ICSR (*(volatile const uint32_t *)0xE000ED04u)

/* The same few instructions each time: what they add to a region is calibrated. */
static inline __attribute__((always_inline)) struct counter_reading counter_read(void)
{
	struct counter_reading reading;

	__asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(reading.masked)::"memory");
	reading.value = COUNTER_CVR;
	reading.pending = COUNTER_ICSR;
	reading.rounds = counter_rounds;
#if defined(COUNTER_CYCLES)
	reading.cycles = *cycles_source;
#endif /* COUNTER_CYCLES */
	__asm__ volatile("cpsie i" ::: "memory");
	return reading;
}

/*
 * What something else did to the counter, or to the interrupt that counts its rounds, up to a reading: then what was counted
 * says nothing. NULL if there is nothing.
 */
const char *counter_problem(struct counter_reading last);

/* Starts the counter. Must come before any reading. */
void counter_start(void);

/* Instructions from the first to the second reading, without those of the counter's interrupt. */
uint64_t counter_between(struct counter_reading first, struct counter_reading second);

/* Roughly how many instructions there were since the start: for showing an order, not for differences. */
uint64_t counter_since_start(struct counter_reading reading);

/*
 * Counts one and the same loop while the counter comes round never and while it does so often. Returns 0 if the counts
 * are equal, or cycles differ by what the interrupts take; else the second, with the first in `*expected`.
 */
uint64_t counter_self_test(uint64_t *expected);

#endif /* WORLDWISE_MCU_COUNTER_H */
