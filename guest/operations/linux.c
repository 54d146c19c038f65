/* SPDX-License-Identifier: BSD-2-Clause */
/* A portable implementation in plain Linux: the operations of the boards' programs, linked once for each curve. */
#include <string.h>
#include <time.h>

#include "../bench/bench.h"
#include "../bench/message.h"
#include "../linux/idle.h"
#include "../linux/load.h"
#include "../mbedtls-clock/hardclock.h"
#include "frame.h"
#include "operations.h"

#define PLACE "linux"
#define NANOSECONDS UINT64_C(1000000000)

void frame_message(uint8_t *message, size_t size, uint32_t index)
{
	for (size_t done = 0; done < size; done += MESSAGE_BLOCK)
		memcpy(message + done, message_block(), size - done < MESSAGE_BLOCK ? size - done : MESSAGE_BLOCK);
	message_mark(message, size, index);
}

_Noreturn void frame_fail(const char *what, int result)
{
	if (result)
		bench_fail("%s: %d", what, result);
	bench_fail("%s", what);
}

void frame_check(const char *name, const char *measure, int ok)
{
	bench_record_check(name, measure, ok);
}

#ifdef PERF_COUNTER_MOST
static uint64_t now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time))
		bench_fail("the clock cannot be read");
	return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

/* A nanosecond is an instruction here; on a slower core it is less than a cycle, and this is the stricter. */
static void must_not_be_lost(uint64_t began)
{
	if (now() - began >= PERF_COUNTER_MOST)
		bench_fail("the call is longer than the 32 bits of the cycle counter can tell");
}
#else
static uint64_t now(void)
{
	return 0;
}

static void must_not_be_lost(uint64_t began)
{
	(void)began;
}
#endif /* PERF_COUNTER_MOST */

static void measure(const struct bench_plan *plan, const struct operation *operation, uint64_t overhead)
{
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct bench_span span;
		uint64_t began;
		int result;

		operation->prepare(index);
		began = now();
		span.begin = bench_region_begin();
		result = operation->run();
		span.end = bench_region_end();
		must_not_be_lost(began);
		if (result)
			frame_fail(operation->name, result);
		bench_record_sample(plan, operation->measure, PLACE, index, span, overhead, 0);
		operation->evidence(index);
	}
}

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("linux-bench", ops_name, argc, argv);
	const char *curve = bench_parameter(&plan, "curve");
	const char *name = plan.operation;
	size_t size = bench_parameter_bytes(&plan, "size", 0);
	uint64_t idle = idle_entries();
	uint64_t overhead;
	int result;

	if (strcmp(curve ? curve : "", FRAME_CURVE))
		bench_fail("this program has another curve: %s", FRAME_CURVE);
	if (size > FRAME_MESSAGE_BYTES)
		bench_fail("the message is too long: %zu bytes", size);
#if FRAME_HAS_HARDCLOCK
	if (!strcmp(name, HARDCLOCK))
		name = HARDCLOCK_OPERATION;
#endif /* FRAME_HAS_HARDCLOCK */
	load_start(&plan);
	overhead = bench_calibrate_place(PLACE).count;
	operations_prepare(size, 0);
	result = ops_open();
	if (result)
		frame_fail("open failed", result);
	known_answers(name);
#if FRAME_HAS_HARDCLOCK
	if (name != plan.operation)
		hardclock_case(&plan, PLACE, overhead);
	else
#endif /* FRAME_HAS_HARDCLOCK */
		measure(&plan, operations_find(name), overhead);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
