/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU plugin: who executed each instruction between two readings of the counter, on microcontrollers and for programs of
 * Linux on Armv7-A. It writes the trace of ../aarch64, whose tree, counts and stack it uses.
 *
 *   mode=count|stack   count instructions alone, or attribute them to stacks
 *   out=FILE           where records go
 *   functions=FILE     where functions begin and end (mode stack): see ../aarch64/functions.h
 *   call=ADDRESS       the calls of the function there are passes; can be given again (mode stack)
 *   label=N:ADDRESS, unlabel=N:ADDRESS   besides, passes of that number begin and end there
 *   heap=KIND:ADDRESS   besides, an allocator's function: see ../aarch64/heap.h
 *   until=ADDRESS      a microcontroller: the machine ends when the function there is called
 *   limit=N            or after N instructions
 *   counter=ADDRESS    a microcontroller: readings are loads from that address, behind CPSID; they come in pairs
 *   stores=yes         besides, see how low the stack is written
 *   start=ADDRESS      a program of Linux that begins with the function there; readings are MRCs of PMCCNTR, and each
 *                      ends a pass and begins the next
 *   begin=ADDRESS, end=ADDRESS, entry=ADDRESS   a program of Linux that another one starts: life.h (mode stack)
 *   kernel=ADDRESS     what stands from that address on is Linux
 *   witness=N          every N instructions write registers and stack beside the shadow stack
 *   events=N           at most N exceptions are recorded a pass
 *   core=FILE          a core's table (worldwise.libraries.core_model), whose model says what all takes from the first
 *                      pass on (mode stack); can be given again
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <qemu-plugin.h>

#include "../aarch64/arguments.h"
#include "../aarch64/counts.h"
#include "../aarch64/functions.h"
#include "../aarch64/heap.h"
#include "../aarch64/stack.h"
#include "../aarch64/trace.h"
#include "blocks.h"
#include "calls.h"
#include "cycles.h"
#include "follow.h"
#include "life.h"
#include "passes.h"
#include "processor.h"

#define TRACE_FORMAT 1
#define DEFAULT_EVENTS 200000

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct arguments arguments = { .max_events = DEFAULT_EVENTS };
static struct followed followed;
static uint64_t until, limit;

static void on_processor(qemu_plugin_id_t id, unsigned int processor)
{
	(void)id;
	if (processor) {
		trace_give_up("more than one processor", 0);
		return;
	}
	flat_processor_start(followed.micro, followed.begins);
	counts_attach(processor);
	running = context_of(0, false, 0);
}

static void write_end(void)
{
	struct json_object *record;

	follow_finish();
	record = record_new("end");
	record_number(record, "passes", calls_are_passes() || followed.begins ? calls_count() : passes_count());
	record_number(record, "frames", nodes_made());
	record_number(record, "blocks", blocks_written());
	trace_close(record);
}

static void on_exit(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	write_end();
}

/* The guest has no part in this end: QEMU is left at once. */
static void end_machine(void)
{
	write_end();
	_exit(0);
}

static void write_start(void)
{
	struct json_object *record = record_new("start");

	record_number(record, "format", TRACE_FORMAT);
	record_text(record, "mode", arguments.stack_mode ? "stack" : "count");
	record_address(record, "task_switch", 0);
	record_address(record, "thread_suspend", 0);
	record_address(record, "thread_resume", 0);
	record_number(record, "witness", arguments.witness);
	record_write(record);
}

static bool read_number(const char *value, uint64_t *number)
{
	char *rest;

	*number = strtoull(value, &rest, 0);
	return *value && !*rest;
}

static bool read_argument(const char *argument)
{
	uint64_t number;

	if (!strcmp(argument, "mode=stack"))
		return arguments.stack_mode = true;
	if (!strcmp(argument, "mode=count"))
		return true;
	if (!strcmp(argument, "stores=yes"))
		return followed.stores = true;
	if (!strncmp(argument, "out=", 4))
		return trace_open(argument + 4);
	if (!strncmp(argument, "functions=", 10))
		return functions_read(argument + 10);
	if (!strncmp(argument, "counter=", 8))
		return followed.micro = read_number(argument + 8, &followed.counter);
	if (!strncmp(argument, "call=", 5))
		return read_number(argument + 5, &number) && calls_add(number);
	if (!strncmp(argument, "label=", 6) || !strncmp(argument, "unlabel=", 8))
		return calls_add_label(strchr(argument, '=') + 1, *argument == 'u');
	if (!strncmp(argument, "heap=", 5))
		return heap_add(argument + 5);
	if (!strncmp(argument, "begin=", 6))
		return read_number(argument + 6, &followed.begins);
	if (!strncmp(argument, "end=", 4))
		return read_number(argument + 4, &followed.ends);
	if (!strncmp(argument, "entry=", 6))
		return read_number(argument + 6, &followed.entry);
	if (!strncmp(argument, "until=", 6))
		return read_number(argument + 6, &until);
	if (!strncmp(argument, "limit=", 6))
		return read_number(argument + 6, &limit);
	if (!strncmp(argument, "start=", 6))
		return read_number(argument + 6, &followed.start);
	if (!strncmp(argument, "kernel=", 7))
		return read_number(argument + 7, &followed.kernel);
	if (!strncmp(argument, "witness=", 8))
		return read_number(argument + 8, &arguments.witness);
	if (!strncmp(argument, "core=", 5))
		return cycles_add_core(argument + 5);
	if (!strncmp(argument, "events=", 7))
		return read_number(argument + 7, &arguments.max_events);
	return false;
}

/* Whether the arguments say what is followed. */
static bool is_complete(void)
{
	bool life = followed.begins && followed.ends && followed.entry && arguments.stack_mode;

	return followed.micro || (followed.kernel && (life || (followed.start && !followed.begins)));
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!read_argument(argv[i])) {
			fprintf(stderr, "flat: '%s' is no argument of this plugin, or cannot be done\n", argv[i]);
			return -1;
		}
	(void)info;
	/* Firmware has calls alone. */
	followed.micro |= calls_are_passes() && !followed.kernel;
	if (!trace_is_open() || !is_complete()) {
		fprintf(stderr,
			"flat: needs out=FILE, and counter=, call=, kernel= with start=, or kernel= with begin=, end= "
			"and entry= in mode stack\n");
		return -1;
	}
	if (followed.begins)
		life_start(followed.begins, followed.ends, followed.entry);
	blocks_start();
	tree_start();
	counts_start();
	passes_start(followed.micro);
	calls_end_at(until, limit);
	followed.end_machine = end_machine;
	follow_start(&followed);
	write_start();

	qemu_plugin_register_vcpu_init_cb(id, on_processor);
	qemu_plugin_register_vcpu_tb_trans_cb(id, follow_translation);
	qemu_plugin_register_atexit_cb(id, on_exit, NULL);
	return 0;
}
