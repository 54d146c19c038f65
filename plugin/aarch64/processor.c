/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processor.h"

#include <stdio.h>
#include <string.h>

#include <qemu-plugin.h>

#include "arguments.h"
#include "blocks.h"
#include "heap.h"
#include "trace.h"

#define FRAME_POINTER 29
/* A table of vectors has this size (Arm ARM, D1.4). */
#define VECTOR_TABLE_BYTES 0x800

static struct {
	struct qemu_plugin_register *x[31];
	struct qemu_plugin_register *cpsr;
	struct qemu_plugin_register *sp;
	struct qemu_plugin_register *pc;
	struct qemu_plugin_register *tpidr;
	/* By exception level; NULL for those that are not read. */
	struct qemu_plugin_register *elr[4];
	struct qemu_plugin_register *esr[4];
	struct qemu_plugin_register *spsr[4];
	struct qemu_plugin_register *vbar[4];
	struct qemu_plugin_register *scr;
	struct qemu_plugin_register *ttbr0;
} registers;

static GByteArray *scratch; /* what was read last */

static struct qemu_plugin_register *find_register(const GArray *list, const char *name)
{
	for (guint i = 0; i < list->len; i++) {
		const qemu_plugin_reg_descriptor *descriptor = &g_array_index(list, qemu_plugin_reg_descriptor, i);

		if (!strcmp(descriptor->name, name))
			return descriptor->handle;
	}
	trace_give_up("QEMU does not show a register that is needed", 0);
	fprintf(stderr, "worldwise plugin: QEMU shows no register %s\n", name);
	return NULL;
}

static struct qemu_plugin_register *find_numbered(const GArray *list, const char *prefix, unsigned int number)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%s%u", prefix, number);
	return find_register(list, name);
}

void processor_start(void)
{
	GArray *list = qemu_plugin_get_registers();

	scratch = g_byte_array_new();
	for (unsigned int i = 0; i <= 30; i++)
		registers.x[i] = find_numbered(list, "x", i);
	registers.cpsr = find_register(list, "cpsr");
	registers.pc = find_register(list, "pc");
	if (arguments.watches) {
		registers.sp = find_register(list, "sp");
		registers.tpidr = find_register(list, "TPIDR_EL0");
	}
	/* A machine without EL3 has no secure world either. */
	for (unsigned int el = 1; el <= (arguments.no_monitor ? 1 : 3); el += 2) {
		registers.elr[el] = find_numbered(list, "ELR_EL", el);
		registers.esr[el] = find_numbered(list, "ESR_EL", el);
		registers.spsr[el] = find_numbered(list, "SPSR_EL", el);
	}
	/* QEMU has the AArch64 and the AArch32 register in one. */
	registers.vbar[1] = find_register(list, "VBAR");
	if (!arguments.no_monitor) {
		registers.vbar[3] = find_register(list, "VBAR_EL3");
		registers.scr = find_register(list, "SCR_EL3");
	}
	registers.ttbr0 = find_register(list, "TTBR0_EL1");
	g_array_free(list, TRUE);
}

static uint64_t read_register(struct qemu_plugin_register *handle)
{
	uint64_t value = 0;
	int size;

	if (!handle)
		return 0;
	g_byte_array_set_size(scratch, 0);
	size = qemu_plugin_read_register(handle, scratch);
	if (size > 0 && size <= (int)sizeof(value))
		memcpy(&value, scratch->data, (size_t)size);
	return value;
}

/* In a saved state: of AArch32. */
#define STATE_32 (UINT64_C(1) << 4)

/* The exception level in a saved or current processor state. */
static unsigned int el_of(uint64_t state)
{
	return (unsigned int)(state >> 2) & 3u;
}

uint64_t processor_x(unsigned int number)
{
	return read_register(registers.x[number]);
}

uint64_t processor_sp(void)
{
	return read_register(registers.sp);
}

uint64_t processor_thread(void)
{
	return read_register(registers.tpidr);
}

uint64_t processor_state(void)
{
	return read_register(registers.cpsr);
}

unsigned int processor_el(void)
{
	return el_of(processor_state());
}

bool processor_is_of_32_bits(uint64_t address)
{
	/*
	 * EL1 alone goes to AArch32, by the state that it has saved; an exception may have come back since. QEMU has a
	 * program counter for each of both, and that of AArch64 is where a block begins that is of AArch64.
	 */
	return !arguments.no_monitor && read_register(registers.spsr[1]) & STATE_32 &&
	       read_register(registers.pc) != address;
}

bool processor_secure(void)
{
	return !arguments.no_monitor && !(read_register(registers.scr) & 1);
}

uint64_t processor_user_space(void)
{
	return read_register(registers.ttbr0) & 0x0000fffffffffffeu;
}

uint64_t processor_space_number(void)
{
	return read_register(registers.ttbr0) >> 48;
}

uint64_t processor_return_address(void)
{
	return read_register(registers.elr[processor_el()]);
}

uint64_t processor_interrupted_state(void)
{
	return read_register(registers.spsr[processor_el()]);
}

unsigned int processor_interrupted_el(void)
{
	return el_of(processor_interrupted_state());
}

unsigned int processor_exception_class(void)
{
	return (unsigned int)(read_register(registers.esr[processor_el()]) >> 26) & 0x3fu;
}

bool processor_has_vector(uint64_t address)
{
	unsigned int el = processor_el();

	return el && address - read_register(registers.vbar[el]) < VECTOR_TABLE_BYTES;
}

static bool read_two_words(uint64_t address, uint64_t words[2])
{
	g_byte_array_set_size(scratch, 0);
	if (!qemu_plugin_read_memory_vaddr(address, scratch, 16) || scratch->len < 16)
		return false;
	memcpy(words, scratch->data, 16);
	return true;
}

uint64_t processor_pointer(uint64_t address)
{
	uint64_t value = 0;

	g_byte_array_set_size(scratch, 0);
	if (qemu_plugin_read_memory_vaddr(address, scratch, sizeof(value)) && scratch->len == sizeof(value))
		memcpy(&value, scratch->data, sizeof(value));
	return value;
}

void processor_text(uint64_t address, char *text, size_t most)
{
	g_byte_array_set_size(scratch, 0);
	if (!qemu_plugin_read_memory_vaddr(address, scratch, most))
		return;
	for (size_t i = 0; i < most && i < scratch->len && scratch->data[i]; i++)
		text[i] = (char)scratch->data[i];
}

uint64_t processor_first_written(uint64_t from, uint64_t to)
{
	while (from < to) {
		/* A page may be absent where its neighbour is not. */
		uint64_t end = (from | (PAGE_BYTES - 1)) + 1;
		size_t bytes = (size_t)((end < to ? end : to) - from);

		g_byte_array_set_size(scratch, 0);
		if (!qemu_plugin_read_memory_vaddr(from, scratch, bytes) || scratch->len < bytes)
			return to;
		for (size_t i = 0; i < bytes; i++)
			if (scratch->data[i])
				return from + i;
		from += bytes;
	}
	return to;
}

size_t processor_unwind(uint64_t returns[MAX_UNWOUND])
{
	uint64_t record = processor_x(FRAME_POINTER);
	uint64_t words[2]; /* the caller's record, and where the function returns to */
	size_t count = 0;

	while (count < MAX_UNWOUND && record && !(record & 7) && read_two_words(record, words)) {
		if (!words[1])
			break;
		returns[count++] = words[1];
		if (words[0] <= record)
			break; /* frames only ever stand above those they call */
		record = words[0];
	}
	return count;
}
