/* SPDX-License-Identifier: BSD-2-Clause */
#include "hardclock.h"

#include <sys/time.h>
#include <time.h>

#include "../bench/record.h"
#include "../operations/frame.h"
#include "../operations/operations.h"

#define MICROSECONDS 1000000
#define NANOSECONDS INT64_C(1000000000)
#define TURNS 1000000

/* What each clock says at one moment. They are read in the opposite order at the end, so that they are nested. */
struct moment {
	uint64_t counter;
	struct timespec monotonic;
	struct timeval day;
	unsigned long hardclock;
};

/* Turns of two instructions, whatever the compiler and its flags are. */
static int run_loop(void)
{
	unsigned long turns = TURNS;

#if defined(__aarch64__)
	__asm__ volatile("1:\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(turns) : : "cc");
#elif defined(__arm__)
	__asm__ volatile("1:\n\tsubs %0, %0, #1\n\tbne 1b" : "+r"(turns) : : "cc");
#else
#error "no loop for this architecture: add one of two instructions a turn"
#endif /* __aarch64__ */
	return turns != 0;
}

static void prepare_loop(uint32_t index)
{
	(void)index;
}

/* The counter says itself how long it was. */
static void loop_evidence(uint32_t index)
{
	(void)index;
}

static void read_clocks(struct moment *moment)
{
	if (clock_gettime(CLOCK_MONOTONIC, &moment->monotonic) || gettimeofday(&moment->day, NULL))
		bench_fail("the clocks cannot be read");
}

static void record_clocks(const char *measure, uint32_t index, const struct moment *begin, const struct moment *end,
			  uint64_t calls)
{
	int64_t day = (int64_t)(end->day.tv_sec - begin->day.tv_sec) * MICROSECONDS;
	int64_t monotonic = (int64_t)(end->monotonic.tv_sec - begin->monotonic.tv_sec) * NANOSECONDS;

	day += (int64_t)(end->day.tv_usec - begin->day.tv_usec);
	monotonic += (int64_t)(end->monotonic.tv_nsec - begin->monotonic.tv_nsec);
	record_begin("clocks");
	record_text("measure", measure);
	record_number("index", index);
	record_number("begin", begin->counter);
	record_number("end", end->counter);
	record_number("hardclock", end->hardclock - begin->hardclock);
	record_number("gettimeofday", (uint64_t)day);
	record_number("monotonic", (uint64_t)monotonic);
	record_number("calls", calls);
	record_end();
}

static void measure(const struct bench_plan *plan, const char *place, const struct operation *operation,
		    uint64_t overhead)
{
	int same = 1;

	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct moment begin, end;
		struct bench_span span;
		uint64_t calls;
		int result;

		operation->prepare(index);
		calls = hardclock_calls();
		begin.counter = bench_counter();
		read_clocks(&begin);
		begin.hardclock = hardclock_read();
		same &= begin.hardclock == (unsigned long)hardclock_seen();
		span.begin = bench_region_begin();
		result = operation->run();
		span.end = bench_region_end();
		end.hardclock = hardclock_read();
		same &= end.hardclock == (unsigned long)hardclock_seen();
		if (gettimeofday(&end.day, NULL) || clock_gettime(CLOCK_MONOTONIC, &end.monotonic))
			bench_fail("the clocks cannot be read");
		end.counter = bench_counter();
		if (result)
			frame_fail(operation->name, result);
		bench_record_sample(plan, operation->measure, place, index, span, overhead, 0);
		record_clocks(operation->measure, index, &begin, &end, hardclock_calls() - calls);
		operation->evidence(index);
	}
	bench_record_check("hardclock-is-gettimeofday", operation->measure, same);
}

void hardclock_case(const struct bench_plan *plan, const char *place, uint64_t overhead)
{
	static const struct operation loop = { "loop", "loop", run_loop, prepare_loop, loop_evidence };

	/* The first call keeps the moment that all others count from. */
	(void)hardclock_read();
	measure(plan, place, operations_find(HARDCLOCK_OPERATION), overhead);
	measure(plan, place, &loop, overhead);
}
