/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arguments.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "cycles.h"
#include "functions.h"
#include "heap.h"
#include "labels.h"
#include "trace.h"

#define DEFAULT_EVENTS 200000
/* Functions whose calls are regions. */
#define MAX_CALLS 4096

struct arguments arguments = { .max_events = DEFAULT_EVENTS };

static bool read_mode(const char *value)
{
	arguments.stack_mode = !strcmp(value, "stack");
	return arguments.stack_mode || !strcmp(value, "count");
}

/* Whether the key with which `argument` begins, of `length` characters, is this one: no part of it, and no more. */
static bool is_key(const char *argument, size_t length, const char *key)
{
	return strlen(key) == length && !strncmp(argument, key, length);
}

static bool read_number(const char *argument, size_t length, const char *value)
{
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {
		{ "task-switch", &arguments.task_switch },
		{ "task-name", &arguments.task_name },
		{ "thread-suspend", &arguments.thread_suspend },
		{ "thread-resume", &arguments.thread_resume },
		{ "witness", &arguments.witness },
		{ "events", &arguments.max_events },
		{ "passes", &arguments.passes },
		{ "entry", &arguments.entry },
		{ "ta-entry", &arguments.ta_entry },
		{ "ta-word", &arguments.ta_word },
		{ "ta-heap", &arguments.ta_heap },
		{ "ta-heap-bytes", &arguments.ta_heap_bytes },
		{ "ta-stack", &arguments.ta_stack },
		{ "ta-calls", &arguments.ta_calls },
		{ "ta-opens", &arguments.ta_opens },
		{ "ta-invokes", &arguments.ta_invokes },
		{ "ta-closes", &arguments.ta_closes },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (is_key(argument, length, numbers[i].key)) {
			char *rest;

			*numbers[i].number = strtoull(value, &rest, 0);
			return *value && !*rest;
		}
	}
	return false;
}

static bool add_call(const char *value)
{
	char *rest;

	if (arguments.calls_count == MAX_CALLS)
		return false;
	if (!arguments.calls)
		arguments.calls = g_new(uint64_t, MAX_CALLS);
	arguments.calls[arguments.calls_count++] = strtoull(value, &rest, 0);
	return *value && !*rest;
}

static bool read_argument(const char *argument)
{
	const char *value = strchr(argument, '=');
	size_t length;

	if (!value)
		return false;
	length = (size_t)(value - argument);
	value++;
	if (is_key(argument, length, "mode"))
		return read_mode(value);
	if (is_key(argument, length, "functions"))
		return functions_read(value);
	if (is_key(argument, length, "out"))
		return trace_open(value);
	if (is_key(argument, length, "monitor")) {
		arguments.no_monitor = !strcmp(value, "no");
		return arguments.no_monitor || !strcmp(value, "yes");
	}
	if (is_key(argument, length, "sampling")) {
		arguments.sampling = !strcmp(value, "yes");
		return arguments.sampling || !strcmp(value, "no");
	}
	if (is_key(argument, length, "core"))
		return cycles_add_core(value);
	if (is_key(argument, length, "call"))
		return add_call(value);
	if (is_key(argument, length, "heap"))
		return heap_add(value);
	if (is_key(argument, length, "label") || is_key(argument, length, "unlabel"))
		return labels_add(value, *argument == 'u', false);
	if (is_key(argument, length, "ta-label") || is_key(argument, length, "ta-unlabel"))
		return labels_add(value, argument[3] == 'u', true);
	return read_number(argument, length, value);
}

void arguments_usage(void)
{
	fprintf(stderr,
		"worldwise plugin: arguments, separated by commas:\n"
		"  mode=count|stack      count instructions of regions, or attribute them to stacks too\n"
		"  out=FILE              where records go\n"
		"  task-switch=ADDRESS   Linux's cpu_switch_to (mode stack)\n"
		"  task-name=ADDRESS     Linux's __set_task_comm: calls that are regions have their threads' names\n"
		"  thread-suspend=ADDRESS, thread-resume=ADDRESS\n"
		"                        OP-TEE's thread_state_suspend and thread_resume (mode stack)\n"
		"  functions=FILE        where functions begin and end: pairs of 64-bit numbers, in order (mode "
		"stack)\n"
		"  witness=N             compare with the stack in memory about every N instructions (mode stack)\n"
		"  monitor=no            the machine has no EL3\n"
		"  call=ADDRESS          the calls of the function there are regions; can be given again (mode stack)\n"
		"  label=N:ADDRESS, unlabel=N:ADDRESS, ta-label=N:ADDRESS, ta-unlabel=N:ADDRESS\n"
		"                        regions that begin and end there, numbered behind those of calls (mode "
		"stack)\n"
		"  heap=KIND:ADDRESS     an allocator's function of the program: malloc, calloc, realloc, free, ... "
		"(heap.h)\n"
		"  entry=ADDRESS         where the program that has these functions begins\n"
		"  ta-entry=ADDRESS, ta-word=WORD, ta-stack=BYTES, ta-heap=ADDRESS, ta-heap-bytes=BYTES\n"
		"                        the TA whose stack and heap are looked at: its first instruction, as it was "
		"linked\n"
		"  ta-calls=N, ta-opens=ADDRESS, ta-invokes=ADDRESS, ta-closes=ADDRESS\n"
		"                        what TAs ask of other TAs are regions, numbered from N: OP-TEE's system "
		"calls\n"
		"  core=FILE             say what a core would take, by the model in its table; up to 8 (mode stack)\n"
		"  sampling=yes          of long passes only samples run through the models of cores\n"
		"  passes=N              outermost regions with the same mark that are looked at; 0, the default, for "
		"all\n"
		"  events=N              at most N changes of exception level are recorded a region (mode stack)\n");
}

bool arguments_read(int count, char **texts)
{
	for (int i = 0; i < count; i++) {
		if (!read_argument(texts[i])) {
			arguments_usage();
			fprintf(stderr, "worldwise plugin: %s is not understood, or cannot be done\n", texts[i]);
			return false;
		}
	}
	arguments.watches = arguments.calls_count || labels_are_there() || arguments.ta_calls;
	if (arguments.watches && !(arguments.stack_mode && arguments.entry)) {
		fprintf(stderr, "worldwise plugin: call=, label= and ta-calls= need mode=stack and entry=ADDRESS\n");
		return false;
	}
	return true;
}
