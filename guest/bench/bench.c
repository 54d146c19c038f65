/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parameters.h"
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
	fprintf(stderr, "usage: %s [-] OPERATION WARMUP SAMPLES [KEY=VALUE ...]\n", program);
	exit(2);
}

static unsigned long read_number(const char *program, const char *text, unsigned long most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value > most)
		usage(program);
	return value;
}

static bool has_key(const char *parameter, const char *key)
{
	size_t length = strlen(key);

	return !strncmp(parameter, key, length) && parameter[length] == '=';
}

/*
 * A parameter that nobody reads would be one that is not measured: those are known that the families declare for this
 * program. The build writes parameters.h: see guest.sh of the recipes.
 */
static void check_parameters(const char *program, char *const *parameters)
{
	static const char *const known[] = { BENCH_PARAMETERS };

	for (; *parameters; parameters++) {
		size_t key = 0;

		while (key < sizeof(known) / sizeof(known[0]) && !has_key(*parameters, known[key]))
			key++;
		if (key == sizeof(known) / sizeof(known[0]))
			usage(program);
	}
}

/* The parameters as they were given, with spaces between. */
static void record_parameters(char *const *parameters)
{
	char text[200];
	size_t used = 0;

	text[0] = '\0';
	for (; *parameters; parameters++) {
		int length = snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "", *parameters);

		if (length < 0 || (size_t)length >= sizeof(text) - used)
			bench_fail("the parameters are too long");
		used += (size_t)length;
	}
	record_text("parameters", text);
}

struct bench_plan bench_start(const char *program, const char *implementation, int argc, char **argv)
{
	struct bench_plan plan = { .program = program, .implementation = implementation };
	int by_hand = argc > 1 && !strcmp(argv[1], "-");

	if (argc - by_hand < 4)
		usage(program);
	argv += by_hand;
	plan.operation = argv[1];
	plan.warmup = (uint32_t)read_number(program, argv[2], 1000000);
	plan.samples = (uint32_t)read_number(program, argv[3], 1000000);
	plan.parameters = argv + 4;
	check_parameters(program, plan.parameters);

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
	record_parameters(plan.parameters);
	record_end();
	return plan;
}

const char *bench_parameter(const struct bench_plan *plan, const char *key)
{
	for (char **parameter = plan->parameters; *parameter; parameter++)
		if (has_key(*parameter, key))
			return *parameter + strlen(key) + 1;
	return NULL;
}

size_t bench_parameter_bytes(const struct bench_plan *plan, const char *key, size_t otherwise)
{
	const char *value = bench_parameter(plan, key);

	return value ? read_number(plan->program, value, SIZE_MAX) : otherwise;
}

void bench_record_overhead(const char *place, const char *clock, struct bench_overhead overhead)
{
	record_begin("overhead");
	record_text("place", place);
	record_text("clock", clock);
	record_number("count", overhead.count);
	record_number("nested", overhead.nested);
	record_end();
}

struct bench_overhead bench_calibrate_place(const char *place)
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);

	bench_record_overhead(place, BENCH_CLOCK_NAME, overhead);
	return overhead;
}

static void begin_sample(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
			 uint64_t begin, uint64_t end)
{
	record_begin("sample");
	record_text("measure", measure);
	record_text("place", place);
	record_number("index", index);
	record_text("phase", index == 0 ? "first" : index <= plan->warmup ? "warmup" : "sample");
	record_number("begin", begin);
	record_number("end", end);
}

static void end_sample(const char *measure, const char *place, uint32_t index, uint64_t raw, uint64_t overhead,
		       uint64_t inner)
{
	if (raw < overhead + inner)
		bench_fail("%s %s %u: region shorter than its own overhead", measure, place, (unsigned int)index);
	if (inner)
		record_number("inner", inner);
	record_number("count", raw - overhead - inner);
	record_end();
}

void bench_record_sample(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
			 struct bench_span span, uint64_t overhead, uint64_t inner)
{
	begin_sample(plan, measure, place, index, span.begin, span.end);
	end_sample(measure, place, index, span.end - span.begin, overhead, inner);
}

void bench_record_total(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
			const struct bench_total *total, uint64_t overhead, uint64_t inner)
{
	begin_sample(plan, measure, place, index, total->begin, total->end);
	record_number("spans", total->spans);
	record_number("busy", total->busy);
	end_sample(measure, place, index, total->busy, total->spans * overhead, total->spans * inner);
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
