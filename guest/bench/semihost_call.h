/* SPDX-License-Identifier: BSD-2-Clause */
/* The semihosting call of 32-bit Arm: of a Cortex-M's program, or of a process of a Cortex-A. */
#ifndef WORLDWISE_BENCH_SEMIHOST_CALL_H
#define WORLDWISE_BENCH_SEMIHOST_CALL_H

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'A'
#include <stdint.h>

static inline intptr_t call(int operation, const volatile void *block)
{
	/* With 32 bits the plain SYS_EXIT (0x18) has no room for a status; the extended one (0x20) has. */
	register intptr_t r0 __asm__("r0") = operation == 0x18 ? 0x20 : operation;
	register const volatile void *r1 __asm__("r1") = block;

#if defined(__thumb__)
	__asm__ volatile(".inst.n 0xbabc" : "+r"(r0) : "r"(r1) : "memory"); /* hlt #0x3c */
#else
	__asm__ volatile(".inst 0xe10f0070" : "+r"(r0) : "r"(r1) : "memory"); /* hlt #0xf000 */
#endif /* __thumb__ */
	return r0;
}
#else
#include "../mcu/semihost_call.h"
#endif /* __ARM_ARCH_PROFILE */

#endif /* WORLDWISE_BENCH_SEMIHOST_CALL_H */
