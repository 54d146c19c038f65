/* SPDX-License-Identifier: BSD-2-Clause */
/* The semihosting call of a Cortex-M. bench/semihost.c is built on it, and what only a bare program needs is here. */
#ifndef WORLDWISE_MCU_SEMIHOST_CALL_H
#define WORLDWISE_MCU_SEMIHOST_CALL_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__ARM_ARCH_PROFILE) || __ARM_ARCH_PROFILE != 'M'
#error "no semihosting call for this architecture: add it here or in bench/semihost.c"
#endif /* __ARM_ARCH_PROFILE */

static inline intptr_t call(int operation, const volatile void *block)
{
	/* With 32 bits the plain SYS_EXIT (0x18) has no room for a status; the extended one (0x20) has. */
	register intptr_t r0 __asm__("r0") = operation == 0x18 ? 0x20 : operation;
	register const volatile void *r1 __asm__("r1") = block;

	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}

/* SYS_GET_CMDLINE: the emulator's words for the program, with spaces between, ended by a zero. Returns 0, or -1. */
static inline int semihost_command_line(char *buffer, size_t size)
{
	uintptr_t block[2] = { (uintptr_t)buffer, size };

	return call(0x15, block) ? -1 : 0;
}

#endif /* WORLDWISE_MCU_SEMIHOST_CALL_H */
