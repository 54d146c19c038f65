/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes a loop in the model of a core: model_driver TABLE TIMES < BLOCK. Each line of the block is an instruction in
 * hexadecimal and, if it accesses memory, its address, its bytes and `load` or `store`. The block is executed TIMES
 * times, going back to its begin each time but the last. Prints the cycles of the second half of the passes, by
 * cause, and of these what went on instructions outside the domain.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define MOST 4096u
#define PC 0x400000u

int main(int count, char **arguments)
{
	static uint8_t bytes[4 * MOST];
	static struct access accesses[MOST];
	struct spent spent = { .outside = 0 };
	uint32_t instructions = 0;
	size_t accessed = 0;
	char line[256];
	struct model *model;
	struct code *code;
	unsigned long times;

	if (count != 3 || !(model = model_read(arguments[1])))
		return 2;
	times = strtoul(arguments[2], NULL, 10);
	while (instructions < MOST && fgets(line, sizeof(line), stdin)) {
		unsigned long word;
		char kind[16];
		struct access access = { .instruction = instructions };
		int fields = sscanf(line, "%lx %" SCNx64 " %" SCNu32 " %15s", &word, &access.address, &access.bytes,
				    kind);

		if (fields < 1)
			continue;
		for (unsigned int i = 0; i < 4; i++)
			bytes[4 * instructions + i] = (uint8_t)(word >> 8 * i);
		if (fields == 4) {
			access.store = !strcmp(kind, "store");
			accesses[accessed++] = access;
		}
		instructions++;
	}
	code = code_decode(SET_A64, PC, bytes, instructions);
	for (unsigned long i = 0; i < times; i++) {
		if (i == times / 2)
			spent = (struct spent){ .outside = 0 };
		model_run(model, code, instructions, accesses, accessed, i + 1 < times ? PC : PC + 4 * instructions,
			  &spent);
	}
	for (unsigned int i = 0; i < CAUSES; i++)
		printf("%" PRIu64 " ", spent.cycles[i]);
	printf("%" PRIu64 " %" PRIu64 "\n", spent.outside, spent.outside_instructions);
	return 0;
}
