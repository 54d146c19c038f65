/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the lines of a core's table say: see mcu_lines.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dual.h"
#include "mcu_lines.h"

struct name {
	const char *text;
	size_t offset;
};

#define NUMBER(member) { #member, offsetof(struct dual_numbers, member) }
static const struct name numbers[] = {
	NUMBER(width),
	NUMBER(narrow_pairs),
	NUMBER(writeback_latency),
	NUMBER(flags_latency),
	NUMBER(mispredict),
	NUMBER(flags_ahead),
	NUMBER(mispredict_early),
	NUMBER(fetch_bytes),
	NUMBER(fetch_queue),
	NUMBER(taken),
	NUMBER(banks),
	NUMBER(unaligned),
	NUMBER(aligned_pairs),
	NUMBER(mve),
	NUMBER(store_to_load),
	NUMBER(index_late),
	NUMBER(product_address),
	NUMBER(conditional_late),
	NUMBER(reverse_late),
	NUMBER(line_bytes),
	NUMBER(line_first),
	NUMBER(bus_bytes),
	NUMBER(bus_cycles),
	NUMBER(code_kib),
	NUMBER(code_ways),
	NUMBER(data_kib),
	NUMBER(data_ways),
};
#undef NUMBER

#define BYTE(member) { #member, offsetof(struct dual_class, member) }
static const struct name bytes[] = {
	BYTE(cycles), BYTE(together), BYTE(latency), BYTE(early),      BYTE(first), BYTE(alone),
	BYTE(pairs),  BYTE(bypassed), BYTE(quick),   BYTE(multiplies), BYTE(busy),
};
#undef BYTE

static const char *const needs[ROLES] = { "need_value", "need_shifted", "need_accumulate", "need_address",
					  "need_data" };

static const struct name *find(const struct name *names, size_t count, const char *text)
{
	for (size_t i = 0; text && i < count; i++)
		if (!strcmp(names[i].text, text))
			return &names[i];
	return NULL;
}

static bool read_number(void *core, const char *key, const char *text)
{
	struct dual *dual = core;
	const struct name *name = find(numbers, sizeof(numbers) / sizeof(numbers[0]), key);

	return name && line_value(text, (uint32_t *)(void *)((char *)&dual->numbers + name->offset));
}

static bool read_pair(struct dual_class *class, const char *key, const char *text)
{
	const struct name *name = find(bytes, sizeof(bytes) / sizeof(bytes[0]), key);
	uint32_t value;

	if (!line_value(text, &value) || value > UINT16_MAX)
		return false;
	if (!strcmp(key, "units")) {
		class->units = (uint16_t)value;
		return true;
	}
	if (!strcmp(key, "second")) {
		class->second = (uint16_t)value;
		class->seconds = true;
		return true;
	}
	if (value > UINT8_MAX / 4)
		return false;
	if (name)
		*((uint8_t *)class + name->offset) = (uint8_t)value;
	for (size_t i = 0; i < ROLES; i++)
		if (!strcmp(needs[i], key)) {
			class->need[i] = (uint8_t)value;
			return true;
		}
	if (strcmp(key, "outside") != 0)
		return name != NULL;
	class->outside = value;
	return true;
}

static bool read_class(void *core, const char *name)
{
	struct dual *dual = core;
	unsigned int found = name ? class_of_name(name) : CLASS_COUNT;
	struct dual_class class = { .known = true, .latency = 1 };
	const char *key;
	const char *value;

	if (found == CLASS_COUNT)
		return false;
	while (line_pair(&key, &value))
		if (!read_pair(&class, key, value))
			return false;
	dual->classes[found] = class;
	return true;
}

bool dual_read_line(struct dual *dual, const char *line)
{
	static const struct line_reader reader = { read_number, read_class };

	return line_read(line, dual, &dual->flash, &reader);
}

struct dual *dual_new(void)
{
	struct dual *dual = calloc(1, sizeof(*dual));

	if (!dual) {
		perror("model");
		abort();
	}
	return dual;
}

static bool fits(const struct dual_numbers *numbers, uint32_t kib, uint32_t ways)
{
	return dual_cache_fits(numbers->line_bytes, numbers->bus_bytes, kib, ways);
}

bool dual_complete(const struct dual *dual)
{
	const struct dual_numbers *numbers = &dual->numbers;

	if (!numbers->width || numbers->width > 2)
		return line_refuse("has no width of 1 or 2");
	if (numbers->fetch_bytes & (numbers->fetch_bytes - 1) || numbers->banks & (numbers->banks - 1))
		return line_refuse("has blocks of code or banks that are no power of two");
	if (numbers->fetch_bytes && (!numbers->fetch_queue || numbers->fetch_queue > DUAL_QUEUE))
		return line_refuse("fetches code into no queue, or into a larger one than the model has");
	if (dual->flash.wait && (!dual->flash.line || !(dual->flash.cache || dual->flash.buffers)))
		return line_refuse("has a memory that waits, but no lines");
	if (numbers->line_bytes && !(fits(numbers, numbers->code_kib, numbers->code_ways) &&
				     fits(numbers, numbers->data_kib, numbers->data_ways)))
		return line_refuse("has caches that cannot be: lines, bus, ways and sizes are powers of two");
	return true;
}
