/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "witness.h"

#include <glib.h>

#include "../aarch64/arguments.h"
#include "../aarch64/counts.h"
#include "../aarch64/stack.h"
#include "../aarch64/trace.h"
#include "processor.h"

/* A deeper stack is written up to here: its outermost callers are then not compared. */
#define MOST_STACK 16384u

static uint32_t from;        /* where the stack pointer was; 0 until that is known */
static uint64_t next_sample; /* as totals.counted */

void flat_witness_begin(void)
{
	from = 0;
	next_sample = totals.counted + arguments.witness;
}

static struct json_object *registers(void)
{
	struct json_object *values = json_object_new_array();

	for (unsigned int i = 0; i < FLAT_REGISTERS; i++)
		json_object_array_add(values, json_object_new_uint64(flat_processor_register(i)));
	return values;
}

void flat_witness_look(uint32_t pass, uint64_t pc)
{
	uint32_t stack = flat_processor_stack();
	const GByteArray *memory;
	struct json_object *record;

	if (!from)
		from = stack;
	if (!pass || totals.counted < next_sample || stack > from)
		return;
	next_sample = totals.counted + arguments.witness;
	record = record_new("witness");
	record_number(record, "pass", pass);
	record_address(record, "pc", pc);
	record_address(record, "link", flat_processor_link());
	record_number(record, "context", running->id);
	record_value(record, "shadow", stack_callers());
	record_value(record, "memory", json_object_new_array());
	record_value(record, "registers", registers());
	memory = flat_processor_memory(stack, MIN(from - stack, MOST_STACK));
	record_bytes(record, "stack", memory->data, memory->len);
	record_write(record);
}
