/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
	const char *text;
	size_t offset;
};

#define NUMBER(member) { #member, offsetof(struct table, member) }
static const struct name numbers[] = {
	NUMBER(width),
	NUMBER(fetch),
	NUMBER(retire),
	NUMBER(window),
	NUMBER(mispredict),
	NUMBER(taken),
	NUMBER(call_taken),
	NUMBER(buses),
	NUMBER(bind),
	NUMBER(writeback),
	NUMBER(writeback_latency),
	NUMBER(forward_latency),
	NUMBER(forward_fail),
	NUMBER(store_boundary),
	NUMBER(line_bytes),
	NUMBER(data_kib),
	NUMBER(data_ways),
	NUMBER(code_kib),
	NUMBER(code_ways),
	NUMBER(second_kib),
	NUMBER(second_ways),
	NUMBER(second_latency),
	NUMBER(memory_latency),
	NUMBER(prefetch_lines),
	NUMBER(returns),
	NUMBER(misses),
	NUMBER(unaligned),
	NUMBER(flags_latency),
};
#undef NUMBER

#define BYTE(member) { #member, offsetof(struct timing, member) }
static const struct name bytes[] = {
	BYTE(latency), BYTE(second_latency), BYTE(busy),    BYTE(uops),  BYTE(each),       BYTE(pairs),
	BYTE(early),   BYTE(group),          BYTE(forward), BYTE(alone), BYTE(multiplies), BYTE(holds),
	BYTE(hurry),   BYTE(behind),         BYTE(gives),   BYTE(takes),
};
#undef BYTE

static const char *const needs[ROLES] = { "need_value", "need_shifted", "need_accumulate", "need_address",
					  "need_data" };

static bool set_number(struct table *table, const char *key, unsigned long value)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(numbers[i].text, key)) {
			*(uint32_t *)(void *)((char *)table + numbers[i].offset) = (uint32_t)value;
			return true;
		}
	}
	return false;
}

static bool set_timing(struct timing *timing, const char *key, unsigned long value)
{
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		if (!strcmp(bytes[i].text, key)) {
			*((uint8_t *)timing + bytes[i].offset) = (uint8_t)value;
			return true;
		}
	}
	for (size_t i = 0; i < ROLES; i++) {
		if (!strcmp(needs[i], key)) {
			timing->need[i] = (uint8_t)value;
			return true;
		}
	}
	if (!strcmp(key, "ports"))
		timing->ports = (uint16_t)value;
	else if (!strcmp(key, "second"))
		timing->second = (uint16_t)value;

	else
		return false;
	return true;
}

static bool set_limit(struct limit *limit, const char *key, unsigned long value)
{
	if (!strcmp(key, "ports"))
		limit->ports = (uint16_t)value;
	else if (!strcmp(key, "most"))
		limit->most = (uint8_t)value;
	else if (!strcmp(key, "queue") && value <= UINT8_MAX / 2)
		limit->queue = (uint8_t)value;
	else
		return false;
	return true;
}

/* Reads KEY VALUE pairs until the line ends. */
static bool read_pairs(char *rest, struct timing *timing, struct limit *limit)
{
	char *key;

	while ((key = strtok(rest, " \n"))) {
		char *value = strtok(NULL, " \n");
		unsigned long number = value ? strtoul(value, NULL, 0) : 0;

		rest = NULL;
		if (!value || !(timing ? set_timing(timing, key, number) : set_limit(limit, key, number)))
			return false;
	}
	return true;
}

static bool read_class(struct table *table, char *rest)
{
	char *name = strtok(rest, " \n");
	size_t length = name ? strlen(name) : 0;
	bool wide = length > 2 && !strcmp(name + length - 2, "_q");
	struct timing timing = { .known = true, .busy = 1, .uops = 1 };
	unsigned int class;

	if (!name)
		return false;
	if (wide)
		name[length - 2] = '\0';
	class = class_of_name(name);
	if (class == CLASS_COUNT || !read_pairs(NULL, &timing, NULL))
		return false;
	table->timing[2 * class + 1] = timing;
	if (!wide)
		table->timing[2 * class] = timing;
	return true;
}

bool table_read_kind(struct table *table, const char *kind)
{
	table->pipeline = strcmp(kind, "in-order") ? PIPELINE_OUT_OF_ORDER : PIPELINE_IN_ORDER;
	return !strcmp(kind, "in-order") || !strcmp(kind, "out-of-order");
}

bool table_read_line(struct table *table, const char *text)
{
	char line[512];
	char key[64];
	unsigned long value;

	strncpy(line, text, sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	if (sscanf(line, "number %63s %lu", key, &value) == 2)
		return set_number(table, key, value);
	if (!strncmp(line, "class ", 6))
		return read_class(table, line + 6);
	if (!strncmp(line, "limit ", 6) && table->limit_count < MOST_LIMITS)
		return read_pairs(line + 6, NULL, &table->limits[table->limit_count++]);
	return false;
}

bool table_is_complete(struct table *table)
{
	struct timing *elements = &table->timing[2 * CLASS_vload_struct64];

	if (!elements->known)
		memcpy(elements, &table->timing[2 * CLASS_vload_struct], 2 * sizeof(*elements));

	bool window = table->pipeline == PIPELINE_IN_ORDER ||
		      (table->window && table->window <= MOST_WINDOW && table->retire);

	return table->width && table->fetch && table->line_bytes && window;
}
