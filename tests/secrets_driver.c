/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drives plugin/secrets without an emulator. Lines, numbers in hexadecimal:
 *   f START END      a function
 *   a, b             what follows is the reference's, or the other call's
 *   x PC COUNT       a block of so many instructions of two bytes is executed
 *   t BYTES          the last bytes of it were not
 *   m PC ADDRESS     an access
 * It prints what parts, and how much was executed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "secrets/compare.h"
#include "secrets/partings.h"

#define MOST 16

int main(void)
{
	static struct function functions[MOST];
	static struct map known;
	static struct stream streams[2];
	struct program program = { .functions = functions, .instructions = &known };
	struct stream *stream = streams;
	char line[80];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t first = 0;
		uint64_t second = 0;

		(void)sscanf(line + 1, "%" SCNx64 " %" SCNx64, &first, &second);
		if (line[0] == 'f' && program.function_count < MOST) {
			functions[program.function_count++] = (struct function){ .start = first, .end = second };
		} else if (line[0] == 'a' || line[0] == 'b') {
			stream = &streams[line[0] - 'a'];
		} else if (line[0] == 'x') {
			for (uint64_t i = 0; i < second; i++)
				if (!map_get(&known, first + 2 * i))
					map_put(&known, first + 2 * i, 1);
			stream_block(stream, first, (uint32_t)(2 * second), (uint32_t)second);
		} else if (line[0] == 't') {
			stream_take_back(stream, (uint32_t)first, (uint32_t)first / 2);
		} else if (line[0] == 'm') {
			stream_access(stream, first, second);
		}
	}
	compare_streams(&streams[0], &streams[1], &program, partings_add, NULL);
	partings_write(stdout, 1);
	for (int i = 0; i < 2; i++)
		printf("{\"type\":\"pass\",\"pass\":%d,\"instructions\":%" PRIu32 ",\"runs\":%zu,\"accesses\":%zu}\n",
		       i, streams[i].instructions, streams[i].run_count, streams[i].access_count);
	printf("{\"type\":\"end\",\"passes\":2,\"inside\":false,\"entry\":0}\n");
	return 0;
}
