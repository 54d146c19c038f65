/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mbed TLS's own library/timing.c as it is, but for gettimeofday(), which is called through a function that remembers
 * what it gave. The library's folder is on the compiler's list of headers.
 */
#include "hardclock.h"

#include <sys/time.h>

#define MICROSECONDS 1000000

static uint64_t calls;
static struct timeval seen;

static int seen_gettimeofday(struct timeval *now, void *zone)
{
	int result = gettimeofday(now, zone);

	seen = *now;
	calls++;
	return result;
}

#define gettimeofday(now, zone) seen_gettimeofday(now, zone)
/* The prefix keeps it from being this file. */
#include <library/timing.c>
#undef gettimeofday

unsigned long hardclock_read(void)
{
	return mbedtls_timing_hardclock();
}

uint64_t hardclock_calls(void)
{
	return calls;
}

/* `tv_init` is of the branch for processors without a counter that the library knows: no other compiles here. */
uint64_t hardclock_seen(void)
{
	int64_t seconds = (int64_t)(seen.tv_sec - tv_init.tv_sec);
	int64_t rest = (int64_t)(seen.tv_usec - tv_init.tv_usec);

	return (uint64_t)(seconds * MICROSECONDS + rest);
}
