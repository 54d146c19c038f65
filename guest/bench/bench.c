/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "semihost.h"

static int print_record(const char *line, size_t length)
{
	if (fwrite(line, 1, length, stdout) != length)
		return -1;
	return fflush(stdout);
}

static _Noreturn void usage(const char *program)
{
	fprintf(stderr, "usage: %s [-] OPERATION WARMUP SAMPLES\n", program);
	exit(2);
}

static uint32_t read_number(const char *program, const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value > 1000000)
		usage(program);
	return (uint32_t)value;
}

struct bench_plan bench_start(const char *program, const char *implementation, int argc, char **argv)
{
	struct bench_plan plan = { .program = program, .implementation = implementation };
	int by_hand = argc > 1 && !strcmp(argv[1], "-");

	if (argc - by_hand != 4)
		usage(program);
	argv += by_hand;
	plan.operation = argv[1];
	plan.warmup = read_number(program, argv[2]);
	plan.samples = read_number(program, argv[3]);

	record_to(by_hand ? print_record : semihost_record);
	record_begin("start");
	record_number("format", RECORD_FORMAT);
	record_text("program", program);
	record_text("operation", plan.operation);
	record_text("implementation", implementation);
	record_text("clock", BENCH_CLOCK_NAME);
	record_text("unit", "instructions");
	record_number("warmup", plan.warmup);
	record_number("samples", plan.samples);
	record_end();
	return plan;
}

void bench_record_overhead(const char *place, struct bench_overhead overhead)
{
	record_begin("overhead");
	record_text("place", place);
	record_number("count", overhead.count);
	record_number("nested", overhead.nested);
	record_end();
}

struct bench_overhead bench_calibrate_place(const char *place)
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);

	bench_record_overhead(place, overhead);
	return overhead;
}

void bench_record_sample(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
			 struct bench_span span, uint64_t overhead, uint64_t inner)
{
	uint64_t raw = span.end - span.begin;

	if (raw < overhead + inner)
		bench_fail("%s %s %u: region shorter than its own overhead", measure, place, (unsigned int)index);
	record_begin("sample");
	record_text("measure", measure);
	record_text("place", place);
	record_number("index", index);
	record_text("phase", index == 0 ? "first" : index <= plan->warmup ? "warmup" : "sample");
	record_number("begin", span.begin);
	record_number("end", span.end);
	if (inner)
		record_number("inner", inner);
	record_number("count", raw - overhead - inner);
	record_end();
}

void bench_record_check(const char *name, const char *measure, int ok)
{
	record_begin("check");
	record_text("name", name);
	record_text("measure", measure);
	record_flag("ok", ok);
	record_end();
	if (!ok)
		bench_fail("check failed: %s", name);
}

_Noreturn void bench_fail(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	record_begin("error");
	record_text("message", text);
	record_end();
	exit(1);
}

int bench_finish(uint64_t idle)
{
	record_begin("end");
	record_number("status", 0);
	record_number("idle", idle);
	record_end();
	return 0;
}
