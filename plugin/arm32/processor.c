/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processor.h"

#include <stdio.h>
#include <string.h>

#include <qemu-plugin.h>

#include "../aarch64/heap.h"
#include "../aarch64/processor.h"
#include "../aarch64/trace.h"

/* CPSR.T, and ICI or IPSR in xPSR; bit 2 of an M core's EXC_RETURN: what was interrupted used the process stack. */
#define THUMB_STATE 0x20u
#define EXCEPTION_NUMBER 0x1ffu
#define PROCESS_STACK 4u
/* With TrustZone-M: it was the secure state, and so is the handler's; EXC_RETURN is told by its first byte. */
#define FROM_SECURE 0x40u
#define TO_SECURE 1u
/* What the core pushes besides, below, when a non-secure handler interrupts the secure state. */
#define PUSHED_BESIDES 40u
/* Where in what an exception of the M profile pushes the return address stands. */
#define PUSHED_RETURN 24u

/* Of TTBR0: the translation table, without its attributes. */
#define TABLE UINT64_C(0xffffc000)

#define SP 13u
#define LR 14u

static struct {
	struct qemu_plugin_register *core[FLAT_REGISTERS];
	struct qemu_plugin_register *status;
	struct qemu_plugin_register *psp;
	struct qemu_plugin_register *space;
	struct qemu_plugin_register *thread;
	struct qemu_plugin_register *secure[2]; /* main and process stack; NULL of a core without that state */
	struct qemu_plugin_register *normal[2];
} registers;

static GByteArray *scratch;

/* NULL if there is none. */
static struct qemu_plugin_register *look_up(const GArray *list, const char *name)
{
	for (guint i = 0; i < list->len; i++) {
		const qemu_plugin_reg_descriptor *descriptor = &g_array_index(list, qemu_plugin_reg_descriptor, i);

		if (!strcmp(descriptor->name, name))
			return descriptor->handle;
	}
	return NULL;
}

static struct qemu_plugin_register *find_register(const GArray *list, const char *name)
{
	struct qemu_plugin_register *found = look_up(list, name);

	if (found)
		return found;
	trace_give_up("QEMU does not show a register that is needed", 0);
	fprintf(stderr, "flat: QEMU shows no register %s\n", name);
	return NULL;
}

void flat_processor_start(bool micro, bool tasks)
{
	static const char *const names[FLAT_REGISTERS] = { "r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
							   "r8", "r9", "r10", "r11", "r12", "sp", "lr" };
	GArray *list = qemu_plugin_get_registers();

	scratch = g_byte_array_new();
	for (unsigned int i = 0; i < FLAT_REGISTERS; i++)
		registers.core[i] = find_register(list, names[i]);
	registers.status = find_register(list, micro ? "xpsr" : "cpsr");
	if (micro) {
		registers.psp = find_register(list, "psp");
		registers.secure[0] = look_up(list, "msp_s");
		registers.secure[1] = look_up(list, "psp_s");
		registers.normal[0] = look_up(list, "msp_ns");
		registers.normal[1] = look_up(list, "psp_ns");
	}
	if (tasks) {
		registers.space = find_register(list, "TTBR0_EL1");
		registers.thread = find_register(list, "TPIDRURO");
	}
	g_array_free(list, TRUE);
}

static uint64_t read_wide(struct qemu_plugin_register *handle)
{
	uint64_t value = 0;
	int size;

	g_byte_array_set_size(scratch, 0);
	size = handle ? qemu_plugin_read_register(handle, scratch) : 0;
	if (size > 0 && size <= (int)sizeof(value))
		memcpy(&value, scratch->data, (size_t)size);
	return value;
}

static uint32_t read_register(struct qemu_plugin_register *handle)
{
	uint32_t value = 0;

	g_byte_array_set_size(scratch, 0);
	if (handle && qemu_plugin_read_register(handle, scratch) == sizeof(value))
		memcpy(&value, scratch->data, sizeof(value));
	return value;
}

uint32_t flat_processor_register(unsigned int number)
{
	return read_register(registers.core[number]);
}

const GByteArray *flat_processor_memory(uint32_t address, size_t bytes)
{
	g_byte_array_set_size(scratch, 0);
	if (bytes && !qemu_plugin_read_memory_vaddr(address, scratch, bytes))
		g_byte_array_set_size(scratch, 0);
	return scratch;
}

uint32_t flat_processor_stack(void)
{
	return flat_processor_register(SP);
}

uint32_t flat_processor_link(void)
{
	return flat_processor_register(LR);
}

uint32_t flat_processor_process_stack(void)
{
	return read_register(registers.psp);
}

bool flat_processor_thumb(void)
{
	return read_register(registers.status) & THUMB_STATE;
}

unsigned int flat_processor_exception(void)
{
	return read_register(registers.status) & EXCEPTION_NUMBER;
}

/* The word at an address of memory; 0 if it cannot be read. */
static uint32_t read_word(uint32_t address)
{
	const GByteArray *memory = flat_processor_memory(address, sizeof(uint32_t));
	uint32_t word = 0;

	if (memory->len == sizeof(word))
		memcpy(&word, memory->data, sizeof(word));
	return word;
}

/* No TA is followed. */
uint64_t processor_space_number(void)
{
	return 0;
}

/* For ../aarch64/heap.h. */
uint64_t processor_pointer(uint64_t address)
{
	return read_word((uint32_t)address);
}

uint32_t flat_processor_interrupted(void)
{
	uint32_t link = flat_processor_link();
	bool process = link & PROCESS_STACK;
	bool secure = link & FROM_SECURE;
	uint32_t stack;

	if (!registers.secure[0])
		stack = process ? read_register(registers.psp) : flat_processor_stack();
	else
		stack = read_register(secure ? registers.secure[process] : registers.normal[process]);
	if (registers.secure[0] && secure && !(link & TO_SECURE))
		stack += PUSHED_BESIDES;
	return read_word(stack + PUSHED_RETURN) & ~1u;
}

uint32_t flat_processor_thread(void)
{
	return (uint32_t)read_wide(registers.thread);
}

/* For the call tree of ../aarch64 too. 0 where one program alone is followed. */
uint64_t processor_user_space(void)
{
	return read_wide(registers.space) & TABLE;
}
