/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * worldwise's QEMU plugin: counts the instructions of measured regions and says on which stack each was executed.
 *
 * Modes: `count` counts; `stack` keeps a shadow stack besides, through calls, exceptions, world switches, Linux's task
 * switches and OP-TEE's suspended threads. Outside regions neither does anything but look for marks.
 *
 * docs/use/explain.md explains the rules, docs/how/method.md the marks.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <qemu-plugin.h>

#include "arguments.h"
#include "blocks.h"
#include "counts.h"
#include "follow.h"
#include "names.h"
#include "passes.h"
#include "processor.h"
#include "regions.h"
#include "tasks.h"
#include "threads.h"
#include "trace.h"
#include "tree.h"

#define TRACE_FORMAT 1

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static void on_processor(qemu_plugin_id_t id, unsigned int processor)
{
	(void)id;
	if (processor) {
		trace_give_up("more than one processor", 0);
		return;
	}
	processor_start();
	counts_attach(processor);
}

static void on_exit(qemu_plugin_id_t id, void *data)
{
	struct json_object *record = record_new("end");

	(void)id;
	(void)data;
	regions_finish();
	record_number(record, "passes", passes_count());
	record_number(record, "frames", nodes_made());
	record_number(record, "blocks", blocks_written());
	trace_close(record);
}

static void write_start(void)
{
	struct json_object *record = record_new("start");

	record_number(record, "format", TRACE_FORMAT);
	record_text(record, "mode", arguments.stack_mode ? "stack" : "count");
	record_address(record, "task_switch", arguments.task_switch);
	record_address(record, "thread_suspend", arguments.thread_suspend);
	record_address(record, "thread_resume", arguments.thread_resume);
	record_number(record, "witness", arguments.witness);
	record_write(record);
}

/* QEMU calls it when it loads the plugin. Anything but 0 ends QEMU. */
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (!arguments_read(argc, argv))
		return -1;
	if (!trace_is_open() || strcmp(info->target_name, "aarch64") != 0) {
		arguments_usage();
		fprintf(stderr, "worldwise plugin: needs out=FILE, and an aarch64 machine\n");
		return -1;
	}
	blocks_start();
	tree_start();
	counts_start();
	tasks_start();
	threads_start();
	names_start();
	passes_start();
	write_start();

	qemu_plugin_register_vcpu_init_cb(id, on_processor);
	qemu_plugin_register_vcpu_tb_trans_cb(id, follow_translation);
	qemu_plugin_register_atexit_cb(id, on_exit, NULL);
	return 0;
}
