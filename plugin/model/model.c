/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a core's table and hands everything to the engine of its kind. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcu.h"

enum kind { KIND_NONE, KIND_MCU };

struct model {
	char name[64];
	enum kind kind;
	struct mcu *mcu;
};

struct code {
	enum instruction_set set;
	uint32_t instructions;
	struct mcu_code *t32;
};

static bool read_line(struct model *model, const char *line)
{
	char kind[32];

	if (*line == '#' || *line == '\n' || !*line)
		return true;
	if (sscanf(line, "core %63s", model->name) == 1)
		return true;
	if (sscanf(line, "kind %31s", kind) == 1) {
		if (strcmp(kind, "mcu") != 0)
			return false;
		model->kind = KIND_MCU;
		model->mcu = mcu_new();
		return true;
	}
	return model->kind == KIND_MCU && mcu_read_line(model->mcu, line);
}

static bool read_table(struct model *model, const char *path, FILE *file)
{
	char line[256];
	unsigned int number = 0;

	while (fgets(line, sizeof(line), file)) {
		number++;
		if (!read_line(model, line)) {
			fprintf(stderr, "%s:%u: not understood: %s", path, number, line);
			return false;
		}
	}
	if (!*model->name || (model->kind == KIND_MCU && !mcu_complete(model->mcu))) {
		fprintf(stderr, "%s: the table is not complete\n", path);
		return false;
	}
	return true;
}

struct model *model_read(const char *path)
{
	struct model *model = calloc(1, sizeof(*model));
	FILE *file = fopen(path, "r");
	bool understood;

	if (!file || !model) {
		perror(path);
		free(model);
		return NULL;
	}
	understood = read_table(model, path, file);
	fclose(file);
	if (!understood) {
		free(model->mcu);
		free(model);
		return NULL;
	}
	return model;
}

const char *model_name(const struct model *model)
{
	return model->name;
}

struct code *code_decode(enum instruction_set set, uint64_t pc, const uint8_t *bytes, uint32_t instructions)
{
	struct code *code = calloc(1, sizeof(*code));

	if (!code) {
		perror("model");
		abort();
	}
	code->set = set;
	code->instructions = instructions;
	if (set == SET_T32)
		code->t32 = mcu_decode(pc, bytes, instructions);
	return code;
}

void model_run(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
	       size_t count, uint64_t next, struct spent *spent)
{
	if (model->kind == KIND_MCU && code->t32) {
		mcu_run(model->mcu, code->t32, instructions, accesses, count, next, spent);
		return;
	}
	/* Nothing is known: one cycle each, and all of it outside. */
	spent->cycles[CAUSE_ISSUE] += instructions;
	spent->outside += instructions;
	spent->outside_instructions += instructions;
}

void model_forget(struct model *model)
{
	if (model->mcu)
		mcu_forget(model->mcu);
}
