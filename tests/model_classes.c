/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads instructions in hexadecimal and names the class of each, with _q for 128 bits. With an argument, a32, t32 or t32_81m,
 * they are of that set, T32's with the first halfword in front; behind the class stand masks of the registers that it
 * reads or writes: the core's, those of the vectors, and which of the three kinds of flags.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "operation.h"

static struct operation decode(const char *set, const char *text, unsigned int word)
{
	uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8) };

	if (!strcmp(set, "a32"))
		return a32_operation(word);
	if (!strcmp(set, "t32_81m")) {
		struct operation operation;

		return t32_81m_operation(word, &operation) ? operation : (struct operation){ .class = CLASS_unknown };
	}
	if (strlen(text) > 4) {
		bytes[0] = (uint8_t)(word >> 16);
		bytes[1] = (uint8_t)(word >> 24);
		bytes[2] = (uint8_t)word;
		bytes[3] = (uint8_t)(word >> 8);
	}
	return t32_operation(bytes, false);
}

static void take(uint64_t masks[3], unsigned int number)
{
	masks[number / 32] |= UINT64_C(1) << number % 32;
}

static void print_registers(const struct operation *operation)
{
	uint64_t masks[3] = { 0 };

	for (unsigned int i = 0; i < operation->sources; i++)
		take(masks, operation->source[i]);
	for (unsigned int i = 0; i < operation->results; i++)
		take(masks, operation->result[i]);
	printf(" %" PRIx64 " %" PRIx64 " %" PRIx64, masks[0], masks[1], masks[2]);
}

int main(int count, char **arguments)
{
	char text[16];
	unsigned int word;

	while (scanf("%15s", text) == 1 && sscanf(text, "%x", &word) == 1) {
		struct operation operation = count < 2 ? a64_operation(word) : decode(arguments[1], text, word);

		printf("%s%s", class_name(operation.class), operation.wide ? "_q" : "");
		if (count > 1)
			print_registers(&operation);
		printf("\n");
	}
	return 0;
}
