/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace: a file of records, one JSON object a line, in the order in which they are written. `worldwise schema trace`
 * prints what each has.
 */
#ifndef WORLDWISE_TRACE_H
#define WORLDWISE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>
#include <json-c/printbuf.h>

/* Creates the file of the trace, or empties it. False if that cannot be done. */
bool trace_open(const char *path);
bool trace_is_open(void);

/*
 * Notes that the counts are not to be trusted: `what` cannot be, at address `where`. Only the first note is kept, until
 * trace_close() writes it. `what` is a string literal.
 */
void trace_give_up(const char *what, uint64_t where);

/* A new record of that type. It is the caller's until he hands it to record_write() or trace_close(). */
struct json_object *record_new(const char *type);
/* These append a field. `key` and `value` are copied. */
void record_number(struct json_object *record, const char *key, uint64_t value);
void record_address(struct json_object *record, const char *key, uint64_t value); /* as hexadecimal text */
void record_text(struct json_object *record, const char *key, const char *value);
void record_bytes(struct json_object *record, const char *key, const uint8_t *bytes,
		  size_t count); /* as their digits */
void record_flag(struct json_object *record, const char *key, bool value);
/* Appends a field of any kind and takes `value`. */
void record_value(struct json_object *record, const char *key, struct json_object *value);

/* Writes a record and frees it. Gives up if it cannot be written. */
void record_write(struct json_object *record);

/*
 * Writes a record as record_write() does, with an array `rows`. `print` prints row `row` of `count` behind what is
 * `between` it and the one before, or nothing and returns false: too many rows for an object each.
 */
typedef bool print_row_fn(struct printbuf *buffer, const char *between, size_t row, const void *of);
void record_write_rows(struct json_object *record, size_t count, print_row_fn *print, const void *of);

/* Writes the last record, with the first thing that was given up if there is one, frees it, and closes the file. */
void trace_close(struct json_object *last);

#endif /* WORLDWISE_TRACE_H */
