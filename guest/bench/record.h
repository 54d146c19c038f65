/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records: one JSON object a line, written to a channel of their own. docs/how/format.md has the schema.
 *
 * A record is opened, given its fields, and closed; the writer sees to commas, quotes and escapes, so that a line is
 * always whole, valid JSON. Lines reach the channel when they are closed: whatever happens next, they are kept.
 */
#ifndef WORLDWISE_BENCH_RECORD_H
#define WORLDWISE_BENCH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_FORMAT 2

/* Takes one whole line of `length` bytes, newline included. Returns 0, or -1 if it could not be kept. */
typedef int (*record_sink)(const char *line, size_t length);

/* Chooses where lines go. Must be called before the first record. */
void record_to(record_sink sink);

void record_begin(const char *type);
void record_text(const char *key, const char *value);
void record_number(const char *key, uint64_t value);
void record_flag(const char *key, bool value);
void record_hex(const char *key, const uint8_t *bytes, size_t length);

/* Sends the line. A line that was too long or could not be kept ends the program: a lost sample is not passed over. */
void record_end(void);

#endif /* WORLDWISE_BENCH_RECORD_H */
