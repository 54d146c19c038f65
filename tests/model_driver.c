/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives plugin/model without an emulator: `model_driver TABLE` reads lines of stdin and answers each with one line.
 *
 *   class HEX                      the class of a T32 instruction; HEX as in a listing, halfwords first to last
 *   set a32|t32|a64                what the next blocks are of; T32 without it; answers `ok`
 *   forget                         model_forget; answers `ok`
 *   run PC NEXT CODE [ACCESS ..]   a block of instructions, `4408,f8d10000`; an access is `index:address:bytes:l|s`;
 *                                  answers the six causes, outside and outside_instructions
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "t32.h"

#define MOST 4096

static uint8_t bytes[MOST];
static struct access accesses[MOST];
static enum instruction_set set = SET_T32;

/* Reads `4408,f8d10000`. Returns the number of instructions. */
static uint32_t read_code(char *text)
{
	uint32_t count = 0;
	size_t at = 0;

	while (*text && at + 4 <= MOST) {
		char *rest;
		unsigned long code = strtoul(text, &rest, 16);

		if (rest - text > 4 && set != SET_T32)
			code = code << 16 | (code >> 16 & 0xffff);
		if (rest - text > 4) {
			bytes[at++] = (uint8_t)(code >> 16);
			bytes[at++] = (uint8_t)(code >> 24);
		}
		bytes[at++] = (uint8_t)code;
		bytes[at++] = (uint8_t)(code >> 8);
		count++;
		text = *rest ? rest + 1 : rest;
	}
	return count;
}

static size_t read_accesses(void)
{
	size_t count = 0;
	char *word;

	while ((word = strtok(NULL, " \n")) && count < MOST) {
		unsigned int index;
		unsigned int size;
		uint64_t address;
		char kind;

		if (sscanf(word, "%u:%" SCNx64 ":%u:%c", &index, &address, &size, &kind) != 4)
			exit(2);
		accesses[count++] = (struct access){
			.instruction = index, .bytes = size, .address = address, .store = kind == 's'
		};
	}
	return count;
}

static void run(struct model *model)
{
	struct spent spent = { 0 };
	char *pc_text = strtok(NULL, " \n");
	char *next_text = strtok(NULL, " \n");
	char *code_text = strtok(NULL, " \n");
	uint32_t count;
	uint64_t pc;

	if (!code_text)
		exit(2);
	pc = strtoull(pc_text, NULL, 16);
	count = read_code(code_text);
	model_run(model, code_decode(set, pc, bytes, count), count, accesses, read_accesses(),
		  strtoull(next_text, NULL, 16), &spent);
	for (int i = 0; i < CAUSES; i++)
		printf("%" PRIu64 " ", spent.cycles[i]);
	printf("%" PRIu64 " %" PRIu64 "\n", spent.outside, spent.outside_instructions);
}

static void print_class(void)
{
	struct t32_op op;
	char *word = strtok(NULL, " \n");

	if (!word || !read_code(word))
		exit(2);
	t32_decode(bytes, &op);
	printf("%s\n", t32_class_name(op.class));
}

int main(int argc, char **argv)
{
	static char line[1 << 16];
	struct model *model = argc == 2 ? model_read(argv[1]) : NULL;

	if (!model)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		char *word = strtok(line, " \n");

		if (!word)
			continue;
		if (!strcmp(word, "class")) {
			print_class();
		} else if (!strcmp(word, "set")) {
			word = strtok(NULL, " \n");
			set = !strcmp(word, "a32") ? SET_A32 : !strcmp(word, "a64") ? SET_A64 : SET_T32;
			puts("ok");
		} else if (!strcmp(word, "forget")) {
			model_forget(model);
			puts("ok");
		} else if (!strcmp(word, "run")) {
			run(model);
		} else {
			return 2;
		}
	}
	return 0;
}
