/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that grow. Out of memory is remembered in `failed`; what is appended after that is dropped. */
#ifndef KEYCACHE_BUFFER_H
#define KEYCACHE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_format(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Wipes the contents, keeps the memory unless it is large. */
void buffer_clear(struct buffer *buffer);
void buffer_free(struct buffer *buffer);

#endif /* KEYCACHE_BUFFER_H */
