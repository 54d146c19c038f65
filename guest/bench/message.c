/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"

#include <stdlib.h>
#include <string.h>

#include "record.h"

const uint8_t *message_block(void)
{
	static uint8_t block[MESSAGE_BLOCK];
	static int made;
	uint32_t state = 1;

	for (size_t i = 0; !made && i < MESSAGE_BLOCK; i++) {
		state = state * 1664525u + 1013904223u;
		block[i] = (uint8_t)(state >> 24);
	}
	made = 1;
	return block;
}

uint8_t *message_make(size_t size)
{
	uint8_t *message = malloc(size ? size : 1);

	if (!message)
		bench_fail("no memory for a message of %zu bytes", size);
	for (size_t done = 0; done < size; done += MESSAGE_BLOCK)
		memcpy(message + done, message_block(), size - done < MESSAGE_BLOCK ? size - done : MESSAGE_BLOCK);
	return message;
}

void message_mark(uint8_t *message, size_t size, uint32_t index)
{
	for (size_t i = 0; i < 8 && i < size; i++)
		message[i] = i < 4 ? (uint8_t)(index >> (8 * i)) : 0;
}

void message_record_digest(uint32_t index, const char *content, size_t size, const uint8_t digest[SHA256_BYTES])
{
	record_begin("evidence");
	record_text("measure", "hash");
	record_number("index", index);
	record_text("content", content);
	record_number("size", size);
	record_hex("digest", digest, SHA256_BYTES);
	record_end();
}

void message_known_answer(int (*hash)(const uint8_t *message, size_t size, uint8_t digest[SHA256_BYTES]))
{
	/* FIPS 180-4's example of one block, from NIST's examples with intermediate values. */
	static const uint8_t known[SHA256_BYTES] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
		0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
	};
	uint8_t digest[SHA256_BYTES] = { 0 };
	int result = hash((const uint8_t *)"abc", 3, digest);

	if (result)
		bench_fail("hash of the known message failed: %#x", (unsigned int)result);
	bench_record_check("known-answer", "hash", !memcmp(digest, known, sizeof(known)));
}
