/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a core of the M profile has, by what the compiler says of it (Arm C Language Extensions, ACLE). No file asks for a
 * core or an architecture by its name: a core that is new here is its file in cores/ alone.
 */
#ifndef WORLDWISE_MCU_CORE_H
#define WORLDWISE_MCU_CORE_H

#if !defined(__ARM_ARCH_PROFILE) || __ARM_ARCH_PROFILE != 'M'
#error "no core of the M profile: its start-up, counter and semihosting call are others"
#endif /* __ARM_ARCH_PROFILE */

/*
 * The Main Extension, which Armv6-M and Armv8-M Baseline lack: all of Thumb-2, BASEPRI and FAULTMASK, faults of their own
 * kinds with a status (CFSR), and a DWT that can count cycles.
 */
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2
#define CORE_HAS_MAINLINE 1
#else
#define CORE_HAS_MAINLINE 0
#endif /* __ARM_ARCH_ISA_THUMB */

/* Floating-point registers that the compiler uses: the program must switch the unit on. */
#if defined(__ARM_FP)
#define CORE_HAS_FLOAT 1
#else
#define CORE_HAS_FLOAT 0
#endif /* __ARM_FP */

#endif /* WORLDWISE_MCU_CORE_H */
