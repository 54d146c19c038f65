/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the lines of a core's table say: see mcu_lines.h. */
#include "mcu_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcu_lines.h"

static const char *const number_names[MCU_NUMBERS] = {
	[MCU_WIDTH] = "width",
	[MCU_LOAD_PIPELINED] = "load_pipelined",
	[MCU_STORE_PIPELINED] = "store_pipelined",
	[MCU_STORE_INDEXED] = "store_indexed",
	[MCU_UPDATES_CHAIN] = "updates_chain",
	[MCU_STORE_HIDES] = "store_hides",
	[MCU_STORE_WAITS] = "store_waits",
	[MCU_LOAD_AFTER_STORE] = "load_after_store",
	[MCU_LOADS_AFTER_STORE] = "loads_after_store",
	[MCU_ADDRESS_WAIT] = "address_wait",
	[MCU_ADDRESS_EARLY] = "address_early",
	[MCU_SUM_LATE] = "sum_late",
	[MCU_DATA_LATE] = "data_late",
	[MCU_FLAGS_LATE] = "flags_late",
	[MCU_ROTATED] = "rotated_latency",
	[MCU_WIDE_GROUP] = "wide_group",
	[MCU_WIDE_TARGET] = "wide_target",
	[MCU_FOLDED] = "it_folded",
	[MCU_BRANCH_PAIRS] = "branch_pairs",
	[MCU_REFILL] = "refill",
	[MCU_REFILL_CALL] = "refill_call",
	[MCU_REFILL_REGISTER] = "refill_register",
	[MCU_REFILL_LOAD] = "refill_load",
	[MCU_COMPARE_LATE] = "compare_late",
};

static bool read_number(void *core, const char *name, const char *value)
{
	struct mcu *mcu = core;

	for (size_t i = 0; name && i < MCU_NUMBERS; i++)
		if (!strcmp(number_names[i], name))
			return line_value(value, &mcu->numbers[i]);
	return false;
}

static bool read_pair(struct mcu_class *class, const char *key, const char *value)
{
	uint32_t outside = 0;

	if (!strcmp(key, "cycles"))
		return line_value(value, &class->cycles);
	if (!strcmp(key, "per_register"))
		return line_value(value, &class->per_register);
	if (!strcmp(key, "together"))
		return line_value(value, &class->together);
	if (!strcmp(key, "latency"))
		return line_value(value, &class->latency);
	if (strcmp(key, "outside") != 0 || !line_value(value, &outside))
		return false;
	class->outside = outside;
	return true;
}

static bool read_class(void *core, const char *name)
{
	struct mcu *mcu = core;
	struct mcu_class *class = NULL;
	const char *key;
	const char *value;

	for (int i = 0; name && i < T32_CLASSES; i++)
		if (!strcmp(t32_class_name((enum t32_class)i), name))
			class = &mcu->classes[i];
	if (!class)
		return false;
	class->known = true;
	while (line_pair(&key, &value))
		if (!read_pair(class, key, value))
			return false;
	return true;
}

bool mcu_read_line(struct mcu *mcu, const char *line)
{
	static const struct line_reader reader = { read_number, read_class };

	return line_read(line, mcu, &mcu->flash, &reader);
}

struct mcu *mcu_new(void)
{
	struct mcu *mcu = calloc(1, sizeof(*mcu));

	if (!mcu) {
		perror("model");
		abort();
	}
	mcu_forget(mcu);
	return mcu;
}

bool mcu_complete(struct mcu *mcu)
{
	const struct flash *flash = &mcu->flash;

	if (mcu->numbers[MCU_WIDTH] != 1)
		return line_refuse("has no width of 1");
	for (int i = 0; i < T32_CLASSES; i++)
		if (mcu->classes[i].known && !mcu->classes[i].cycles && !mcu->classes[i].per_register)
			return line_refuse("has a class without cycles");
	for (int i = 0; i < T32_CLASSES; i++)
		mcu->waits |= mcu->classes[i].latency > 0;
	/* The figures of a board whose stores wait have no such rows: the fetch unit catches up meanwhile. */
	if (mcu->numbers[MCU_STORE_WAITS])
		mcu->numbers[MCU_WIDE_GROUP] = 0;
	if (flash->wait && (!flash->line || !(flash->cache || flash->buffers)))
		return line_refuse("has a memory that waits, but no lines");
	return true;
}
