/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU plugin: cycles of measured regions on named cores (plugin/model), for programs of user mode, for bare
 * microcontrollers and for programs of Linux on Armv7-A: no stacks, no worlds. One processor or thread, the first.
 *
 *   core=FILE       a core's table (worldwise.libraries.core_model); may be given several times
 *   out=FILE        where lines of JSON go: one a region passed, and at the end one a block of code
 *   set=a32|t32     the instruction set, if it is not A64; without it a block with a narrow instruction says t32, and
 *                   the others are of the set of the block before
 *   forget=yes      caches, predictors and pipelines are emptied before every region: a first call
 *   counter=ADDRESS a region is between two readings of a device at that address, with the second one: all from the
 *                   first reading to the last
 *   reading=pmccntr a region is between two instructions that read the cycle counter of an arm machine, with the second
 *                   one; its code is A32 and T32 by turns, as the processor says
 *   linux=ADDRESS   what stands from that address on is Linux: a region says too how much of it was there, and how many
 *                   exceptions there were
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
static bool set_is_fixed;
static bool no_marks;
static bool whole;

/* Of an arm machine whose regions are between readings of its cycle counter. */
static bool by_readings;
static struct qemu_plugin_register *status_register;
static struct qemu_plugin_register *link_register;
static GByteArray *scratch;

#define THUMB_STATE 0x20u

/* The exceptions of Linux, at the high vectors. The link register says where they came from, and so much more. */
#define VECTORS 0xffff0000u
#define VECTORS_END 0xffff0020u
#define VECTOR_FETCH_ABORT 0xffff000cu
#define VECTOR_DATA_ABORT 0xffff0010u
#define VECTOR_INTERRUPT 0xffff0018u
#define BEHIND_FETCH 4u
#define BEHIND_DATA 8u

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
		region_enter(data, NULL);
}

static uint32_t read_register(struct qemu_plugin_register *handle)
{
	uint32_t value = 0;

	g_byte_array_set_size(scratch, 0);
	if (qemu_plugin_read_register(handle, scratch) == sizeof(value))
		memcpy(&value, scratch->data, sizeof(value));
	return value;
}

/* The same where the processor has to say what was interrupted, and which instruction set is in use. */
static void enter_state(unsigned int processor, void *data)
{
	struct segment *segment = data;
	struct arrival arrival = { .exception = segment->pc >= VECTORS && segment->pc < VECTORS_END };

	if (processor)
		return;
	if (!segment->code)
		segment_decode(segment, read_register(status_register) & THUMB_STATE ? SET_T32 : SET_A32);
	if (segment->pc == VECTOR_DATA_ABORT) {
		arrival.back = read_register(link_register) - BEHIND_DATA;
		arrival.aborted = true;
	} else if (segment->pc == VECTOR_FETCH_ABORT || segment->pc == VECTOR_INTERRUPT) {
		arrival.back = read_register(link_register) - BEHIND_FETCH;
	}
	region_enter(segment, &arrival);
}

static void take_reading(unsigned int processor, void *data)
{
	if (!processor)
		region_reading(data);
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

/* MRC p15, 0, r, c9, c13, 0: of A32, and with its halves changed of T32. */
static bool reads_counter(const struct qemu_plugin_insn *instruction)
{
	uint8_t bytes[4] = { 0 };
	size_t size = qemu_plugin_insn_data(instruction, bytes, sizeof(bytes));
	uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;

	return size == 4 && ((word & 0x0fff0fffu) == 0x0e190f1du || (word & 0x0fffffffu) == 0x0f1dee19u);
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
	segment = segment_of(translation, first, count);
	if (!segment->code && !by_readings)
		segment_decode(segment, set);
	places = g_new(struct place, count);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translation, first + i);

		places[i] = (struct place){ .segment = segment, .index = (uint32_t)i };
		/* Callbacks come in the order in which they are registered. */
		if (i == 0)
			qemu_plugin_register_vcpu_insn_exec_cb(
				instruction, by_readings ? enter_state : enter_segment,
				by_readings ? QEMU_PLUGIN_CB_R_REGS : QEMU_PLUGIN_CB_NO_REGS, segment);
		if (i == count - 1)
			region_watch_last(instruction);
		if (by_readings && reads_counter(instruction))
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, take_reading, QEMU_PLUGIN_CB_NO_REGS,
							       &places[i]);
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

static void on_processor(qemu_plugin_id_t id, unsigned int processor)
{
	GArray *registers = qemu_plugin_get_registers();

	(void)id;
	for (guint i = 0; !processor && i < registers->len; i++) {
		const qemu_plugin_reg_descriptor *found = &g_array_index(registers, qemu_plugin_reg_descriptor, i);

		if (!strcmp(found->name, "cpsr"))
			status_register = found->handle;
		else if (!strcmp(found->name, "lr"))
			link_register = found->handle;
	}
	g_array_free(registers, TRUE);
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

static bool read_by_readings(const char *value)
{
	by_readings = !strcmp(value, "pmccntr");
	no_marks = by_readings;
	scratch = g_byte_array_new();
	return by_readings;
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
	if (!strncmp(argument, "reading=", 8))
		return read_by_readings(argument + 8);
	if (!strncmp(argument, "linux=", 6))
		return regions_of_linux(argument + 6);
	no_marks = !strcmp(argument, "whole=yes");
	if (!strncmp(argument, "function=", 9))
		no_marks = regions_of_function(argument + 9);
	else
		whole = no_marks;
	return no_marks;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (!strcmp(info->target_name, "arm"))
		set = SET_A32;
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
	if (by_readings)
		qemu_plugin_register_vcpu_init_cb(id, on_processor);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit, NULL);
	return 0;
}
