/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>

#include <glib.h>

static FILE *output;
static const char *problem; /* the first thing that cannot be; NULL for none */
static uint64_t problem_at;

bool trace_open(const char *path)
{
	output = fopen(path, "w");
	return output;
}

bool trace_is_open(void)
{
	return output;
}

void trace_give_up(const char *what, uint64_t where)
{
	if (!problem) {
		problem = what;
		problem_at = where;
	}
}

struct json_object *record_new(const char *type)
{
	struct json_object *record = json_object_new_object();

	record_text(record, "type", type);
	return record;
}

void record_value(struct json_object *record, const char *key, struct json_object *value)
{
	json_object_object_add(record, key, value);
}

void record_number(struct json_object *record, const char *key, uint64_t value)
{
	record_value(record, key, json_object_new_uint64(value));
}

void record_address(struct json_object *record, const char *key, uint64_t value)
{
	char text[20];

	(void)snprintf(text, sizeof(text), "%#" PRIx64, value);
	record_text(record, key, text);
}

void record_text(struct json_object *record, const char *key, const char *value)
{
	record_value(record, key, json_object_new_string(value));
}

void record_bytes(struct json_object *record, const char *key, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	char *text = g_malloc(2 * count + 1);

	for (size_t i = 0; i < count; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * count] = '\0';
	record_text(record, key, text);
	g_free(text);
}

void record_flag(struct json_object *record, const char *key, bool value)
{
	record_value(record, key, json_object_new_boolean(value));
}

void record_write(struct json_object *record)
{
	if (fputs(json_object_to_json_string_ext(record, JSON_C_TO_STRING_PLAIN), output) < 0 ||
	    fputc('\n', output) < 0)
		trace_give_up("the output cannot be written", 0);
	json_object_put(record);
}

struct rows {
	size_t count;
	print_row_fn *print;
	const void *of;
};

/* json-c calls it for the array of rows, which has no elements of its own. */
static int print_rows(struct json_object *array, struct printbuf *buffer, int level, int flags)
{
	const struct rows *rows = json_object_get_userdata(array);
	const char *between = "[";

	(void)level;
	(void)flags;
	for (size_t row = 0; row < rows->count; row++) {
		if (rows->print(buffer, between, row, rows->of))
			between = ",";
	}
	return sprintbuf(buffer, "]");
}

void record_write_rows(struct json_object *record, size_t count, print_row_fn *print, const void *of)
{
	struct rows rows = { count, print, of };
	struct json_object *array = json_object_new_array();

	json_object_set_serializer(array, print_rows, &rows, NULL);
	record_value(record, "rows", array);
	record_write(record);
}

void trace_close(struct json_object *last)
{
	if (problem) {
		record_text(last, "problem", problem);
		record_address(last, "problem_at", problem_at);
	}
	record_write(last);
	if (fclose(output))
		fprintf(stderr, "worldwise plugin: the output could not be written\n");
}
