/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A core's table: lines `number NAME VALUE`, `class NAME KEY VALUE ..`, `memory NAME VALUE`. */
#include "mcu_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE " \t\r\n"
#define MOST 100000

static const char *const number_names[MCU_NUMBERS] = {
	[MCU_WIDTH] = "width",
	[MCU_LOAD_PIPELINED] = "load_pipelined",
	[MCU_STORE_PIPELINED] = "store_pipelined",
	[MCU_STORE_INDEXED] = "store_indexed",
	[MCU_UPDATES_CHAIN] = "updates_chain",
	[MCU_STORE_HIDES] = "store_hides",
	[MCU_LOAD_AFTER_STORE] = "load_after_store",
	[MCU_ADDRESS_WAIT] = "address_wait",
	[MCU_ADDRESS_EARLY] = "address_early",
	[MCU_SUM_LATE] = "sum_late",
	[MCU_WIDE_GROUP] = "wide_group",
	[MCU_WIDE_STORES] = "wide_stores",
	[MCU_WIDE_TARGET] = "wide_target",
	[MCU_FOLDED] = "it_folded",
	[MCU_REFILL] = "refill",
	[MCU_REFILL_CALL] = "refill_call",
	[MCU_REFILL_REGISTER] = "refill_register",
	[MCU_REFILL_LOAD] = "refill_load",
	[MCU_PREDICTOR_BITS] = "predictor_bits",
	[MCU_MISPREDICT] = "mispredict",
	[MCU_RETURNS] = "returns",
	[MCU_UNIT_0] = "alus",
	[MCU_UNIT_0 + 1] = "multipliers",
	[MCU_UNIT_0 + 2] = "memories",
	[MCU_UNIT_0 + 3] = "others",
};

static const char *const unit_names[MCU_UNITS] = { "alu", "multiplier", "memory", "other" };

static bool read_value(const char *text, uint32_t *value)
{
	char *rest;
	unsigned long number;

	if (!text || *text < '0' || *text > '9')
		return false;
	number = strtoul(text, &rest, 10);
	*value = (uint32_t)number;
	return !*rest && number <= MOST;
}

static bool read_number(struct mcu *mcu, const char *name, const char *value)
{
	for (size_t i = 0; name && i < MCU_NUMBERS; i++)
		if (!strcmp(number_names[i], name))
			return read_value(value, &mcu->numbers[i]);
	return false;
}

static bool read_unit(struct mcu_class *class, const char *name)
{
	for (uint32_t i = 0; name && i < MCU_UNITS; i++)
		if (!strcmp(unit_names[i], name)) {
			class->unit = i;
			return true;
		}
	return false;
}

static bool read_pair(struct mcu_class *class, const char *key, const char *value)
{
	uint32_t outside = 0;

	if (!strcmp(key, "cycles"))
		return read_value(value, &class->cycles);
	if (!strcmp(key, "per_register"))
		return read_value(value, &class->per_register);
	if (!strcmp(key, "together"))
		return read_value(value, &class->together);
	if (!strcmp(key, "latency"))
		return read_value(value, &class->latency);
	if (!strcmp(key, "unit"))
		return read_unit(class, value);
	if (strcmp(key, "outside") != 0 || !read_value(value, &outside))
		return false;
	class->outside = outside;
	return true;
}

static bool read_class(struct mcu *mcu, const char *name)
{
	struct mcu_class *class = NULL;
	char *key;

	for (int i = 0; name && i < T32_CLASSES; i++)
		if (!strcmp(t32_class_name((enum t32_class)i), name))
			class = &mcu->classes[i];
	if (!class)
		return false;
	class->known = true;
	while ((key = strtok(NULL, SPACE)))
		if (!read_pair(class, key, strtok(NULL, SPACE)))
			return false;
	return true;
}

bool mcu_read_line(struct mcu *mcu, const char *line)
{
	char copy[256];
	char *word;
	char *name;

	if (strlen(line) >= sizeof(copy))
		return false;
	strcpy(copy, line);
	word = strtok(copy, SPACE);
	name = word ? strtok(NULL, SPACE) : NULL;
	if (!name)
		return false;
	if (!strcmp(word, "number"))
		return read_number(mcu, name, strtok(NULL, SPACE));
	if (!strcmp(word, "memory")) {
		uint32_t value;

		return read_value(strtok(NULL, SPACE), &value) && flash_set(&mcu->flash, name, value);
	}
	return !strcmp(word, "class") && read_class(mcu, name);
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

static bool refuse(const char *what)
{
	fprintf(stderr, "model: the table of a microcontroller %s\n", what);
	return false;
}

bool mcu_complete(struct mcu *mcu)
{
	const struct flash *flash = &mcu->flash;

	if (!mcu->numbers[MCU_WIDTH] || mcu->numbers[MCU_WIDTH] > 2)
		return refuse("has no width of 1 or 2");
	if (mcu->numbers[MCU_RETURNS] > MCU_MAX_RETURNS || 1u << mcu->numbers[MCU_PREDICTOR_BITS] > MCU_PREDICTOR)
		return refuse("has a larger predictor than the model");
	for (int i = 0; i < T32_CLASSES; i++)
		if (mcu->classes[i].known && !mcu->classes[i].cycles && !mcu->classes[i].per_register)
			return refuse("has a class without cycles");
	for (int i = 0; i < T32_CLASSES; i++)
		mcu->waits |= mcu->classes[i].latency > 0;
	mcu->waits |= mcu->numbers[MCU_WIDTH] > 1;
	if (flash->wait && (!flash->line || !(flash->cache || flash->buffers)))
		return refuse("has a memory that waits, but no lines");
	return true;
}
