/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last instructions up to a given place in a period of the counter, which ticks once per instruction: the counter is
 * read within 256 ticks of the period's beginning, and of 256 instructions that do nothing the rest is executed.
 */
#ifndef WORLDWISE_OWN_PERIOD_H
#define WORLDWISE_OWN_PERIOD_H

#if defined(__aarch64__)
static inline void wait_within_period(void)
{
	__asm__ volatile("mrs x9, cntvct_el0\n\t"
			 "and x9, x9, #255\n\t"
			 "adr x10, 1f\n\t"
			 "add x10, x10, x9, lsl #2\n\t"
			 "br x10\n"
			 "1:\n\t"
			 ".rept 256\n\t"
			 "nop\n\t"
			 ".endr"
			 :
			 :
			 : "x9", "x10", "memory");
}
#elif defined(__thumb2__)
static inline void wait_within_period(void)
{
	__asm__ volatile("mrrc p15, 1, r2, r3, c14\n\t"
			 "and r2, r2, #255\n\t"
			 "adr r3, 1f\n\t"
			 "add r3, r3, r2, lsl #1\n\t"
			 "orr r3, r3, #1\n\t"
			 "bx r3\n\t"
			 ".balign 4\n"
			 "1:\n\t"
			 ".rept 256\n\t"
			 "nop.n\n\t"
			 ".endr"
			 :
			 :
			 : "r2", "r3", "cc", "memory");
}
#else
#error "no counter of this architecture is read here"
#endif /* __aarch64__ */

#endif /* WORLDWISE_OWN_PERIOD_H */
