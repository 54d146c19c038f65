/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

#include <stdlib.h>
#include <string.h>

/* The longest: an error text of 256 bytes, each written as its code (six bytes). */
static char line[2048];
static size_t used;
static bool overflow;
static record_sink send;

static void put(char c)
{
	if (used < sizeof(line))
		line[used++] = c;
	else
		overflow = true;
}

static void put_raw(const char *text)
{
	while (*text)
		put(*text++);
}

static void put_hex_digit(unsigned int value)
{
	put("0123456789abcdef"[value & 15u]);
}

static void put_quoted(const char *text)
{
	put('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\') {
			put('\\');
			put((char)c);
		} else if (c < 0x20 || c > 0x7e) {
			/* Texts are ASCII by contract; anything else is shown by its code, byte by byte. */
			put_raw("\\u00");
			put_hex_digit(c >> 4);
			put_hex_digit(c);
		} else {
			put((char)c);
		}
	}
	put('"');
}

static void put_key(const char *key)
{
	if (used > 1)
		put(',');
	put_quoted(key);
	put(':');
}

void record_to(record_sink sink)
{
	send = sink;
}

void record_begin(const char *type)
{
	used = 0;
	overflow = false;
	put('{');
	record_text("type", type);
}

void record_text(const char *key, const char *value)
{
	put_key(key);
	put_quoted(value);
}

void record_number(const char *key, uint64_t value)
{
	char digits[20]; /* 2^64 has twenty */
	size_t n = 0;

	put_key(key);
	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		put(digits[--n]);
}

void record_flag(const char *key, bool value)
{
	put_key(key);
	put_raw(value ? "true" : "false");
}

void record_hex(const char *key, const uint8_t *bytes, size_t length)
{
	put_key(key);
	put('"');
	for (size_t i = 0; i < length; i++) {
		put_hex_digit(bytes[i] >> 4);
		put_hex_digit(bytes[i]);
	}
	put('"');
}

void record_end(void)
{
	put('}');
	put('\n');
	if (overflow || send(line, used))
		abort();
}
