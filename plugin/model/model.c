/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stand-in while the engine is made: one cycle an instruction. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model {
	char name[64];
};
struct code {
	uint32_t instructions;
};

struct model *model_read(const char *path)
{
	struct model *model = calloc(1, sizeof(*model));
	char line[256];
	FILE *file = fopen(path, "r");

	if (!file || !model) {
		perror(path);
		return NULL;
	}
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "core %63s", model->name) == 1)
			break;
	fclose(file);
	return model;
}

const char *model_name(const struct model *model)
{
	return model->name;
}

struct code *code_decode(enum instruction_set set, uint64_t pc, const uint8_t *bytes, uint32_t instructions)
{
	struct code *code = calloc(1, sizeof(*code));

	(void)set;
	(void)pc;
	(void)bytes;
	code->instructions = instructions;
	return code;
}

void model_run(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
	       size_t count, uint64_t next, struct spent *spent)
{
	(void)model;
	(void)code;
	(void)accesses;
	(void)count;
	(void)next;
	spent->cycles[CAUSE_ISSUE] += instructions;
}

void model_forget(struct model *model)
{
	(void)model;
}
