/* SPDX-License-Identifier: BSD-2-Clause */
#include "counter.h"

#include <stdbool.h>
#include <stddef.h>

#include "core.h"

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define VTOR (*(volatile const uint32_t *)0xE000ED08u)
#define CONTROL_PRIVILEGE_AND_STACK 3u
#define CSR_ENABLE 1u
#define CSR_INTERRUPT 2u
#define CSR_CORE_CLOCK 4u
#define CSR_ALL (CSR_ENABLE | CSR_INTERRUPT | CSR_CORE_CLOCK)
#define ICSR_PENDSTSET (1u << 26)

#if defined(COUNTER_CYCLES)
#define LOOP_PASSES 8000u
/* More cycles than an interrupt takes, whatever memory its handler stands in. */
#define MOST_INTERRUPT 1024u
#else
#define LOOP_PASSES 2000u
#endif /* COUNTER_CYCLES */

volatile uint32_t counter_rounds;
static uint32_t round_ticks;
static uint64_t round_ns;
static uint32_t vectors;

/* Written by hand, for the number of its instructions to be COUNTER_HANDLER whatever the compiler's options are. */
__attribute__((naked)) void SysTick_Handler(void)
{
	__asm__ volatile(".syntax unified\n\t"
			 "ldr r0, =counter_rounds\n\t"
			 "ldr r1, [r0]\n\t"
			 "adds r1, #1\n\t"
			 "str r1, [r0]\n\t"
			 "bx lr");
}

static void start(uint32_t ticks, uint64_t nanoseconds)
{
	SYST_CSR = 0;
	round_ticks = ticks;
	round_ns = nanoseconds;
	vectors = VTOR;
	counter_rounds = 0;
	SYST_RVR = ticks - 1;
	SYST_CVR = 0;
	SYST_CSR = CSR_ALL;
	/* The first tick loads the counter; until then it reads as 0, which would look like the end of a round. */
	while (!SYST_CVR)
		;
}

void counter_start(void)
{
	start(COUNTER_ROUND_TICKS, COUNTER_ROUND_NS);
}

const char *counter_problem(struct counter_reading last)
{
	uint32_t control;
#if CORE_HAS_MAINLINE
	uint32_t base;
	uint32_t faults;

	__asm__ volatile("mrs %0, basepri\n\tmrs %1, faultmask" : "=r"(base), "=r"(faults));
	last.masked |= base | faults;
#endif /* CORE_HAS_MAINLINE */
	if (last.masked)
		return "interrupts are disabled after the call: the counter's rounds were not counted";
	if ((SYST_CSR & CSR_ALL) != CSR_ALL || SYST_RVR != round_ticks - 1)
		return "the call changed SysTick, by which it is measured";
	if (VTOR != vectors)
		return "the call changed the vector table, and with it the counter's interrupt";
	__asm__ volatile("mrs %0, control" : "=r"(control));
	if ((control & CONTROL_PRIVILEGE_AND_STACK) != 2)
		return "the call changed the stack pointer or the privileges";
	return NULL;
}

/* Since the start, in ns of virtual time, to a tick. */
static uint64_t time_at(struct counter_reading reading)
{
	/* The interrupt comes as the counter reaches 0: that tick is the first of the new round. */
	uint32_t within = reading.value ? round_ticks - reading.value : 0;
	uint64_t rounds = reading.rounds;

	if ((reading.pending & ICSR_PENDSTSET) && within < round_ticks / 2)
		rounds++;
	return rounds * round_ns + (within * UINT64_C(1000000000) + COUNTER_HZ / 2) / COUNTER_HZ;
}

static uint64_t instructions(uint64_t ns)
{
	return (ns + COUNTER_INSTRUCTION_NS / 2) / COUNTER_INSTRUCTION_NS;
}

uint64_t counter_between(struct counter_reading first, struct counter_reading second)
{
	uint64_t interrupts = second.rounds - first.rounds;
	uint64_t count = instructions(time_at(second) - time_at(first)) - interrupts * COUNTER_HANDLER;

#if defined(COUNTER_CYCLES)
	if (cycles_counted())
		count = cycles_lengthened(count, second.cycles - first.cycles);
#endif /* COUNTER_CYCLES */
	return count;
}

uint64_t counter_since_start(struct counter_reading reading)
{
	return instructions(time_at(reading));
}

static uint64_t count_loop(void)
{
	struct counter_reading begin = counter_read();

	for (volatile uint32_t i = 0; i < LOOP_PASSES; i++)
		;
	return counter_between(begin, counter_read());
}

static bool is_exact(uint64_t found, uint64_t expected, uint32_t rounds)
{
#if defined(COUNTER_CYCLES)
	uint64_t full = found / COUNTER_SHORT_TICKS;
	uint64_t apart = rounds > full ? rounds - full : full - rounds;

	/*
	 * The rounds are SysTick's, and the count is the cycle counter's, if there is one: they must have the same clock. A few
	 * rounds pass beside the loop.
	 */
	return found >= expected && found - expected <= rounds * (uint64_t)MOST_INTERRUPT && apart <= full / 8 + 2;
#else
	(void)rounds;
	return found == expected;
#endif /* COUNTER_CYCLES */
}

uint64_t counter_self_test(uint64_t *expected)
{
	uint64_t found;
	uint32_t rounds;

	counter_start();
	*expected = count_loop();
	start(COUNTER_SHORT_TICKS, COUNTER_SHORT_NS);
	found = count_loop();
	rounds = counter_rounds;
	counter_start();
	return is_exact(found, *expected, rounds) && rounds > 2 ? 0 : found;
}
