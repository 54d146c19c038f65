/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "witness.h"

#include <stddef.h>

#include "arguments.h"
#include "counts.h"
#include "processor.h"
#include "stack.h"
#include "trace.h"

#define LINK_REGISTER 30

static uint32_t pass_id;
static uint64_t next_sample; /* as totals.counted */

void witness_begin(uint32_t pass)
{
	pass_id = pass;
	next_sample = totals.counted + arguments.witness;
}

static struct json_object *callers_in_memory(void)
{
	struct json_object *callers = json_object_new_array();
	uint64_t returns[MAX_UNWOUND];
	size_t count = processor_unwind(returns);

	for (size_t i = 0; i < count; i++)
		json_object_array_add(callers, json_object_new_uint64(returns[i]));
	return callers;
}

void witness_look(const struct block *to)
{
	struct json_object *record;

	/* 32-bit code has no frame records, and QEMU shows no register of it here. */
	if (totals.counted < next_sample || to->set != SET_A64)
		return;
	next_sample = totals.counted + arguments.witness;
	record = record_new("witness");
	record_number(record, "pass", pass_id);
	record_address(record, "pc", to->pc);
	record_address(record, "link", processor_x(LINK_REGISTER));
	record_number(record, "context", running->id);
	record_value(record, "shadow", stack_callers());
	record_value(record, "memory", callers_in_memory());
	record_write(record);
}
