/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A microcontroller's measured program: one library on one curve. Linked once for each; which of the library's operations
 * it measures is said on its command line.
 */
#include <string.h>

#include "../bench/record.h"
#include "../bench/semihost.h"
#include "../operations/frame.h"
#include "../operations/operations.h"
#include "counter.h"
#include "heap.h"
#include "semihost_call.h"
#include "start.h"

#ifndef FRAME_BOARD
#error "FRAME_BOARD must be the board's name"
#endif /* FRAME_BOARD */

#define PLACE "mcu"

void frame_message(uint8_t *message, size_t size, uint32_t index)
{
	uint32_t state = 1;

	for (size_t i = 0; i < size; i++) {
		state = state * 1664525u + 1013904223u;
		message[i] = i < 4 ? (uint8_t)(index >> (8 * i)) : i < 8 ? 0 : (uint8_t)(state >> 24);
	}
}

static void add(char *text, size_t room, const char *more)
{
	strncat(text, more, room - strlen(text) - 1);
}

static void add_number(char *text, size_t room, uint32_t value)
{
	char digits[11];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	add(text, room, digits + at);
}

_Noreturn void frame_fail(const char *what, int result)
{
	static char text[200];

	text[0] = '\0';
	add(text, sizeof(text), what);
	if (result) {
		add(text, sizeof(text), result < 0 ? ": -" : ": ");
		add_number(text, sizeof(text), result < 0 ? 0u - (uint32_t)result : (uint32_t)result);
	}
	if (heap_refused()) {
		add(text, sizeof(text), "; the heap had no room for ");
		add_number(text, sizeof(text), (uint32_t)heap_refused());
		add(text, sizeof(text), " bytes");
	}
	record_begin("error");
	record_text("message", text);
	record_end();
	semihost_exit(1);
}

void frame_check(const char *name, const char *measure, int ok)
{
	char text[100] = "check failed: ";

	record_begin("check");
	record_text("name", name);
	record_text("measure", measure);
	record_flag("ok", ok);
	record_end();
	if (!ok) {
		strncat(text, name, sizeof(text) - strlen(text) - 1);
		frame_fail(text, 0);
	}
}

/* Reads digits; -1 if there is anything else. */
static long read_number(const char *text)
{
	long value = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > 100000000)
			return -1;
		value = value * 10 + (*text - '0');
	}
	return value;
}

static uint32_t required_number(const char *text)
{
	long value = text ? read_number(text) : -1;

	if (value < 0)
		frame_fail("usage: OPERATION WARMUP SAMPLES [KEY=VALUE ...]", 0);
	return (uint32_t)value;
}

static struct frame_plan read_plan(char *words, char *parameters, size_t room)
{
	struct frame_plan plan = { 0 };
	char *word = strtok(words, " ");

	plan.operation = word ? word : "";
	plan.warmup = required_number(strtok(NULL, " "));
	plan.samples = required_number(strtok(NULL, " "));
	parameters[0] = '\0';
	while ((word = strtok(NULL, " "))) {
		if (strlen(parameters) + strlen(word) + 2 > room)
			frame_fail("the parameters are too long", 0);
		if (*parameters)
			strcat(parameters, " ");
		strcat(parameters, word);
		if (!strncmp(word, "curve=", 6)) {
			if (strcmp(word + 6, FRAME_CURVE))
				frame_fail("this program has another curve: " FRAME_CURVE, 0);
		} else if (!strncmp(word, "size=", 5)) {
			plan.size = required_number(word + 5);
		} else if (!strncmp(word, "runs=", 5)) {
			plan.runs = required_number(word + 5);
		} else {
			frame_fail("a parameter is not known", 0);
		}
	}
	if (plan.size > FRAME_MESSAGE_BYTES)
		frame_fail("the message is too long", 0);
	return plan;
}

static void record_start(const struct frame_plan *plan, const char *parameters)
{
	record_begin("start");
	record_number("format", RECORD_FORMAT);
	record_text("program", "mcu-bench");
	record_text("board", FRAME_BOARD);
	record_text("operation", plan->operation);
	record_text("implementation", ops_name);
	record_text("clock", COUNTER_NAME);
	record_text("unit", COUNTER_UNIT);
	record_number("warmup", plan->warmup);
	record_number("samples", plan->samples);
	record_text("parameters", parameters);
	record_end();
}

static uint32_t overhead(void)
{
	uint64_t least = UINT64_MAX;

	for (int pass = 0; pass < 16; pass++) {
		struct counter_reading begin = counter_read();
		uint64_t count = counter_between(begin, counter_read());

		if (count < least)
			least = count;
	}
	record_begin("overhead");
	record_text("place", PLACE);
	record_text("clock", COUNTER_NAME);
	record_number("count", least);
	record_end();
	return (uint32_t)least;
}

static void must_succeed(const struct operation *operation, int result)
{
	if (result)
		frame_fail(operation->name, result);
}

static int run_nothing(void)
{
	return 0;
}

/*
 * How many bytes of stack a call takes: what is below this function's own frame is painted, and looked at afterwards. No
 * interrupt may put a frame there meanwhile.
 */
static __attribute__((noinline)) size_t stack_of(int (*run)(void), int *result)
{
	uint32_t *from;
	size_t depth;

	__asm__ volatile("cpsid i\n\tmov %0, sp" : "=r"(from)::"memory");
	stack_paint(from);
	*result = run();
	depth = stack_painted_over(from);
	__asm__ volatile("cpsie i" ::: "memory");
	return depth;
}

/* In a call of its own: painting and looking take time. */
static void measure_memory(const struct operation *operation)
{
	size_t stack;
	size_t before;
	int result;

	operation->prepare(0);
	heap_forget_peak();
	before = heap_used();
	stack = stack_of(operation->run, &result);
	must_succeed(operation, result);
	record_begin("memory");
	record_text("measure", operation->measure);
	record_text("place", PLACE);
	record_number("stack", stack - stack_of(run_nothing, &result));
	record_number("heap", heap_peak() - before);
	record_number("heap_left", heap_used() - before);
	record_end();
}

static void measure(const struct frame_plan *plan, const struct operation *operation, uint32_t cost)
{
	for (uint32_t index = 0; index < 1 + plan->warmup + plan->samples; index++) {
		struct counter_reading begin;
		struct counter_reading end;
		const char *problem;
		uint64_t count;
		int result;

		operation->prepare(index);
		begin = counter_read();
		result = operation->run();
		end = counter_read();
		must_succeed(operation, result);
		problem = counter_problem(end);
		if (problem)
			frame_fail(problem, 0);
		count = counter_between(begin, end);
		if (count < cost)
			frame_fail("a region is shorter than its own overhead", 0);
		record_begin("sample");
		record_text("measure", operation->measure);
		record_text("place", PLACE);
		record_number("index", index);
		record_text("phase", index == 0 ? "first" : index <= plan->warmup ? "warmup" : "sample");
		record_number("begin", counter_since_start(begin));
		record_number("end", counter_since_start(begin) + count);
		record_number("count", count - cost);
		record_end();
		operation->evidence(index);
	}
}

int main(void)
{
	static char words[160];
	static char parameters[100];
	const struct operation *operation;
	struct frame_plan plan;
	uint64_t expected;
	uint64_t wrong;
	uint32_t cost;
	int result;

	if (semihost_command_line(words, sizeof(words)))
		frame_fail("the command line cannot be read", 0);
	plan = read_plan(words, parameters, sizeof(parameters));
	record_start(&plan, parameters);
	operation = operations_find(plan.operation);

	wrong = counter_self_test(&expected);
	if (wrong)
		frame_fail("the counter is not exact: the same loop counts otherwise when it comes round", (int)wrong);
	cost = overhead();
	operations_prepare(plan.size, plan.runs);
	result = ops_open();
	if (result)
		frame_fail("open failed", result);
	known_answers(plan.operation);
	measure_memory(operation);
	measure(&plan, operation, cost);
	record_begin("end");
	record_number("status", 0);
	record_number("idle", 0);
	record_end();
	return 0;
}
