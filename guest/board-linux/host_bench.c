/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is other for a host than in guest/bench, whose functions the linker wraps (--wrap): the bench starts the host's
 * counter, says the counter's unit, and records the conditions of each sample beside it. What a TA says of its own
 * regions is left out: it has no counter there (uncounted.h).
 */
#include <string.h>

#include "../bench/bench.h"
#include "../bench/record.h"
#include "../linux/idle.h"
#include "counter.h"

/* The linker's names: the first of each pair is called in place of the bench's own, which has the second. */
struct bench_plan __wrap_bench_start(const char *program, const char *implementation, int argc, char **argv);
struct bench_plan __real_bench_start(const char *program, const char *implementation, int argc, char **argv);
void __wrap_bench_record_overhead(const char *place, const char *clock, struct bench_overhead overhead);
void __real_bench_record_overhead(const char *place, const char *clock, struct bench_overhead overhead);
void __wrap_bench_record_sample(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
				struct bench_span span, uint64_t overhead, uint64_t inner);
void __real_bench_record_sample(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
				struct bench_span span, uint64_t overhead, uint64_t inner);
void __wrap_record_text(const char *key, const char *value);
void __real_record_text(const char *key, const char *value);

struct bench_plan __wrap_bench_start(const char *program, const char *implementation, int argc, char **argv)
{
	counter_start();
	return __real_bench_start(program, implementation, argc, argv);
}

void __wrap_record_text(const char *key, const char *value)
{
	__real_record_text(key, strcmp(key, "unit") ? value : counter_unit());
}

static void record_conditions(const char *measure, uint32_t index)
{
	const struct counter_conditions *found = counter_last();

	record_begin("conditions");
	record_text("measure", measure);
	record_number("index", index);
	if (counter_has_instructions()) {
		record_number("instructions", found->instructions);
		record_number("overhead", found->overhead);
	}
	record_number("enabled", found->enabled);
	record_number("running", found->running);
	record_number("switches", found->switches);
	record_number("migrations", found->migrations);
	record_number("khz_begin", found->khz_begin);
	record_number("khz_end", found->khz_end);
	record_end();
}

static bool in_ta(const char *place)
{
	return !strcmp(place, "ta");
}

void __wrap_bench_record_overhead(const char *place, const char *clock, struct bench_overhead overhead)
{
	if (!in_ta(place))
		__real_bench_record_overhead(place, clock, overhead);
}

void __wrap_bench_record_sample(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
				struct bench_span span, uint64_t overhead, uint64_t inner)
{
	if (in_ta(place))
		return;
	__real_bench_record_sample(plan, measure, place, index, span, overhead, inner);
	record_conditions(measure, index);
}

/* A processor that waits counts nothing here, and a wait shows as a switch. */
uint64_t idle_entries(void)
{
	return 0;
}
