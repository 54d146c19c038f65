/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What mbedtls_timing_hardclock() of mbed TLS 2.28 returns on Arm: it is read around operations that are counted too, and
 * so are the clocks that it could be made of. Linked with a portable implementation that has signatures.
 */
#ifndef WORLDWISE_MBEDTLS_CLOCK_HARDCLOCK_H
#define WORLDWISE_MBEDTLS_CLOCK_HARDCLOCK_H

#include <stdint.h>

#include "../bench/bench.h"

/* Its name, and the operation of the library that it is read around. */
#define HARDCLOCK "hardclock"
#define HARDCLOCK_OPERATION "sign"

/* Measures all calls of a plan, of a signature and of a loop of known length. `overhead` is that of the place. */
void hardclock_case(const struct bench_plan *plan, const char *place, uint64_t overhead);

/* --- the library's timing.c, with its calls of gettimeofday() seen --- */

/* mbedtls_timing_hardclock(). */
unsigned long hardclock_read(void);

/* How often the library has called gettimeofday(). */
uint64_t hardclock_calls(void);

/* What that has returned since the first time, in microseconds. */
uint64_t hardclock_seen(void);

#endif /* WORLDWISE_MBEDTLS_CLOCK_HARDCLOCK_H */
