/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands a core's table, blocks and instructions to the engine of its kind. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "mcu.h"
#include "operation.h"

#define A64_BYTES 4u

struct model {
	char name[64];
	struct mcu *mcu; /* a microcontroller's; else NULL, and the next two are used */
	struct table table;
	struct core core;
};

struct code {
	enum instruction_set set;
	uint64_t pc;
	struct mcu_code *t32;
	struct operation a64[];
};

static bool read_line(struct model *model, const char *line)
{
	char kind[32];

	if (*line == '#' || *line == '\n' || !*line)
		return true;
	if (sscanf(line, "core %63s", model->name) == 1)
		return true;
	if (sscanf(line, "kind %31s", kind) == 1) {
		if (!strcmp(kind, "mcu"))
			return (model->mcu = mcu_new()) != NULL;
		return table_read_kind(&model->table, kind);
	}
	return model->mcu ? mcu_read_line(model->mcu, line) : table_read_line(&model->table, line);
}

static bool read_table(struct model *model, const char *path, FILE *file)
{
	char line[512];
	unsigned int number = 0;

	while (fgets(line, sizeof(line), file)) {
		number++;
		if (!read_line(model, line)) {
			fprintf(stderr, "%s:%u: not understood: %s", path, number, line);
			return false;
		}
	}
	if (!*model->name || !(model->mcu ? mcu_complete(model->mcu) : table_is_complete(&model->table))) {
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
	if (!model->mcu)
		core_start(&model->core, &model->table);
	model_forget(model);
	return model;
}

const char *model_name(const struct model *model)
{
	return model->name;
}

struct code *code_decode(enum instruction_set set, uint64_t pc, const uint8_t *bytes, uint32_t instructions)
{
	size_t operations = set == SET_A64 ? instructions : 0;
	struct code *code = calloc(1, sizeof(*code) + operations * sizeof(code->a64[0]));

	if (!code) {
		perror("model");
		abort();
	}
	code->set = set;
	code->pc = pc;
	if (set == SET_T32)
		code->t32 = mcu_decode(pc, bytes, instructions);
	for (size_t i = 0; i < operations; i++) {
		const uint8_t *at = bytes + A64_BYTES * i;

		code->a64[i] = a64_operation(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
					     (uint32_t)at[3] << 24);
	}
	return code;
}

static void run_a64(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
		    size_t count, uint64_t next, struct spent *spent)
{
	struct core *core = &model->core;
	bool in_order = model->table.pipeline == PIPELINE_IN_ORDER;
	size_t at = 0;

	for (uint32_t i = 0; i < instructions; i++) {
		const struct operation *operation = &code->a64[i];
		uint64_t pc = code->pc + A64_BYTES * (uint64_t)i;
		struct step step = { .operation = operation,
				     .pc = pc,
				     .next = i + 1 == instructions ? next : pc + A64_BYTES,
				     .accesses = accesses + at };
		uint64_t before = core->clock;
		enum cause cause;

		while (at < count && accesses[at].instruction == i)
			at++;
		step.count = (size_t)(accesses + at - step.accesses);
		cause = in_order ? inorder_step(core, &step) : outorder_step(core, &step);
		spent->cycles[cause] += core->clock - before;
		if (class_is_outside(operation->class) || !timing_of(&model->table, operation)->known) {
			spent->outside += core->clock - before;
			spent->outside_instructions++;
		}
	}
}

void model_run(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
	       size_t count, uint64_t next, struct spent *spent)
{
	if (model->mcu && code->t32) {
		mcu_run(model->mcu, code->t32, instructions, accesses, count, next, spent);
		return;
	}
	if (!model->mcu && code->set == SET_A64) {
		run_a64(model, code, instructions, accesses, count, next, spent);
		return;
	}
	/* Nothing is known of that code on that core: one cycle each, and all of it outside. */
	spent->cycles[CAUSE_ISSUE] += instructions;
	spent->outside += instructions;
	spent->outside_instructions += instructions;
}

void model_forget(struct model *model)
{
	if (model->mcu)
		mcu_forget(model->mcu);
	else
		core_forget(&model->core);
}
