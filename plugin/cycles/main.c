/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU plugin: cycles of measured regions on named cores (plugin/model), for programs of user mode and for bare
 * microcontrollers: no stacks, no worlds. One processor or thread, the first.
 *
 *   core=FILE       a core's table (worldwise.libraries.core_model); may be given several times
 *   out=FILE        where lines of JSON go: one a region passed, and at the end one a block of code
 *   set=a32|t32     the instruction set of an arm machine; without it a block with a narrow instruction says t32, and
 *                   the others are of the set of the block before
 *   forget=yes      caches, predictors and pipelines are emptied before every region: a first call
 *   counter=ADDRESS a region is between two readings of a device at that address, with the second one: all from the
 *                   first reading to the last
 *   whole=yes       the whole run is one region, and marks are instructions like others
 *   function=PC     each call of the function there is a region, up to its return; marks are instructions like others
 *
 * A region begins behind one mark and ends before the other; marks are not of it. They are hints that hardware does
 * nothing for: AArch64 hint #96 and #97; Thumb nop.w with 0x60 and 0x61 in its low byte; and, for cores without wide
 * hints, the narrow hints 0xbfe0 and 0xbff0. Regions do not nest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>
#include <qemu-plugin.h>

#include "regions.h"
#include "segments.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

enum mark { MARK_NONE, MARK_BEGIN, MARK_END };

static enum instruction_set set = SET_A64;
static bool set_is_fixed = true;
static bool no_marks;
static bool whole;

static void take_mark_begin(unsigned int processor, void *unused)
{
	(void)unused;
	if (!processor)
		region_begin();
}

static void take_mark_end(unsigned int processor, void *pc)
{
	if (!processor)
		region_end((uint64_t)(uintptr_t)pc);
}

static void enter_segment(unsigned int processor, void *data)
{
	if (!processor)
		region_enter(data);
}

static void take_access(unsigned int processor, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (!processor)
		region_access(data, address, 1u << qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info));
}

static enum mark mark_of(const struct qemu_plugin_insn *instruction)
{
	uint8_t bytes[4] = { 0 };
	size_t size = qemu_plugin_insn_data(instruction, bytes, sizeof(bytes));
	uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;

	if (no_marks)
		return MARK_NONE;
	if (set == SET_A64)
		return word == 0xd5032c1fu ? MARK_BEGIN : word == 0xd5032c3fu ? MARK_END : MARK_NONE;
	if (set != SET_T32)
		return MARK_NONE;
	if (size == 2)
		return word == 0xbfe0u ? MARK_BEGIN : word == 0xbff0u ? MARK_END : MARK_NONE;
	return word == 0x8060f3afu ? MARK_BEGIN : word == 0x8061f3afu ? MARK_END : MARK_NONE;
}

/* Hands the instructions from `first` on to the regions, up to a mark or the end. Returns how many. */
static size_t follow_segment(const struct qemu_plugin_tb *translation, size_t first, size_t all)
{
	size_t count = 0;
	struct segment *segment;
	struct place *places;

	while (first + count < all && mark_of(qemu_plugin_tb_get_insn(translation, first + count)) == MARK_NONE)
		count++;
	if (!count)
		return 0;
	segment = segment_of(translation, first, count, set);
	places = g_new(struct place, count);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translation, first + i);

		places[i] = (struct place){ .segment = segment, .index = (uint32_t)i };
		/* Callbacks come in the order in which they are registered. */
		if (i == 0)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, enter_segment, QEMU_PLUGIN_CB_NO_REGS,
							       segment);
		if (i == count - 1)
			region_watch_last(instruction);
		qemu_plugin_register_vcpu_mem_cb(instruction, take_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
						 &places[i]);
	}
	return count;
}

/* Wide instructions alone may be of either set of an arm machine. */
static void find_set(const struct qemu_plugin_tb *translation, size_t all)
{
	if (set_is_fixed)
		return;
	for (size_t i = 0; i < all; i++)
		if (qemu_plugin_insn_size(qemu_plugin_tb_get_insn(translation, i)) == 2) {
			set = SET_T32;
			return;
		}
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *translation)
{
	size_t all = qemu_plugin_tb_n_insns(translation);

	(void)id;
	find_set(translation, all);
	for (size_t i = 0; i < all; i++) {
		struct qemu_plugin_insn *instruction;

		i += follow_segment(translation, i, all);
		if (i == all)
			break;
		instruction = qemu_plugin_tb_get_insn(translation, i);
		if (mark_of(instruction) == MARK_BEGIN)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, take_mark_begin, QEMU_PLUGIN_CB_NO_REGS,
							       NULL);
		else
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, take_mark_end, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)qemu_plugin_insn_vaddr(instruction));
	}
}

static void on_exit(qemu_plugin_id_t id, void *unused)
{
	(void)id;
	(void)unused;
	regions_finish();
}

static bool read_set(const char *value)
{
	set = !strcmp(value, "t32") ? SET_T32 : SET_A32;
	set_is_fixed = true;
	return set == SET_T32 || !strcmp(value, "a32");
}

static bool read_argument(const char *argument)
{
	if (!strncmp(argument, "core=", 5))
		return regions_add_core(argument + 5);
	if (!strncmp(argument, "out=", 4))
		return regions_open(argument + 4);
	if (!strncmp(argument, "set=", 4))
		return read_set(argument + 4);
	if (!strcmp(argument, "forget=yes"))
		return regions_forget();
	if (!strncmp(argument, "counter=", 8))
		return regions_by_counter(argument + 8);
	no_marks = !strcmp(argument, "whole=yes");
	if (!strncmp(argument, "function=", 9))
		no_marks = regions_of_function(argument + 9);
	else
		whole = no_marks;
	return no_marks;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (!strcmp(info->target_name, "arm")) {
		set = SET_A32;
		set_is_fixed = false;
	}
	for (int i = 0; i < argc; i++)
		if (!read_argument(argv[i])) {
			fprintf(stderr, "cycles: '%s' is no argument of this plugin, or cannot be done\n", argv[i]);
			return -1;
		}
	if (!regions_start()) {
		fprintf(stderr, "cycles: needs core=FILE and out=FILE\n");
		return -1;
	}
	if (whole)
		region_begin();
	segments_start();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit, NULL);
	return 0;
}
