/* SPDX-License-Identifier: BSD-2-Clause */
#include "buffer.h"

#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this is given back when the buffer is emptied: an idle connection keeps little. */
#define KEPT_BYTES 4096

static bool reserve(struct buffer *buffer, size_t more)
{
	size_t wanted = buffer->capacity ? buffer->capacity : 256;
	uint8_t *data;

	if (buffer->failed)
		return false;
	if (more <= buffer->capacity - buffer->size)
		return true;
	if (more > SIZE_MAX / 4 - buffer->size) {
		buffer->failed = true;
		return false;
	}
	while (wanted - buffer->size < more)
		wanted *= 2;
	/* Not realloc: what it leaves behind could be a key. */
	data = malloc(wanted);
	if (!data) {
		buffer->failed = true;
		return false;
	}
	if (buffer->size)
		memcpy(data, buffer->data, buffer->size);
	OPENSSL_clear_free(buffer->data, buffer->capacity);
	buffer->data = data;
	buffer->capacity = wanted;
	return true;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
	if (!size || !reserve(buffer, size))
		return;
	memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
}

void buffer_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
	char text[512];
	va_list list;
	int size;

	va_start(list, format);
	size = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (size < 0)
		buffer->failed = true;
	else
		buffer_append(buffer, text, (size_t)size < sizeof(text) ? (size_t)size : sizeof(text) - 1);
}

void buffer_clear(struct buffer *buffer)
{
	if (buffer->capacity > KEPT_BYTES) {
		buffer_free(buffer);
		return;
	}
	if (buffer->size)
		OPENSSL_cleanse(buffer->data, buffer->size);
	buffer->size = 0;
	buffer->failed = false;
}

void buffer_free(struct buffer *buffer)
{
	OPENSSL_clear_free(buffer->data, buffer->capacity);
	*buffer = (struct buffer){ 0 };
}
