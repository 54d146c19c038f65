/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counter of a 32-bit core that has a generic timer, CNTVCT, in place of ../bench/region.h: include it first (-include).
 * Under QEMU with -icount shift=0 and cntfrq=1000000000 it ticks once per instruction. The emulator's plugin knows the
 * readings around a program's life by their addresses, and finds the value in r2 and r3 behind them: each stands once in
 * a program.
 */
#ifndef WORLDWISE_BENCH_REGION_H
#define WORLDWISE_BENCH_REGION_H

#include <stdint.h>

#if !defined(__ARM_ARCH_PROFILE) || __ARM_ARCH_PROFILE != 'A' || defined(__aarch64__)
#error "this counter is that of A32 and T32 on cores of the A profile"
#endif /* __ARM_ARCH_PROFILE */

/* The ISB ends what QEMU translates at once, so that a reading stands alone. */
#define READING(name)                                                                                                  \
	register uint32_t low __asm__("r2");                                                                           \
	register uint32_t high __asm__("r3");                                                                          \
	__asm__ volatile("isb\n" name "\tmrrc p15, 1, %0, %1, c14" : "=r"(low), "=r"(high) : : "memory");              \
	return low | (uint64_t)high << 32

static inline uint64_t bench_counter(void)
{
	READING("");
}

static inline __attribute__((always_inline)) uint64_t bench_region_begin(void)
{
	READING(".globl worldwise_life_begins\nworldwise_life_begins:\n");
}

static inline __attribute__((always_inline)) uint64_t bench_region_end(void)
{
	READING(".globl worldwise_life_ends\nworldwise_life_ends:\n");
}

#undef READING

#endif /* WORLDWISE_BENCH_REGION_H */
