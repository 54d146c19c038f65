/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands everything to the engine of the core's kind: the A profile's, or the microcontrollers' (mcu.h). */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "mcu.h"
#include "operation.h"

#define A64_BYTES 4u

struct model {
	struct table table;
	struct core core;
	bool stub;       /* nothing is known of the core yet */
	struct mcu *mcu; /* and then of the table the name alone is set */
};

struct code {
	uint64_t pc;
	uint32_t instructions;
	bool is_a64;
	struct mcu_code *t32; /* and then there are no operations */
	struct operation operations[];
};

/* Whether a table is of a kind, `kind mcu\n`. False too if it cannot be read. */
static bool is_of(const char *path, const char *kind)
{
	FILE *file = fopen(path, "r");
	char line[256];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = !strcmp(line, kind);
	fclose(file);
	return found;
}

static bool read_mcu(struct model *model, const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int number = 0;
	char line[256];
	bool good = file;

	model->mcu = mcu_new();
	while (good && fgets(line, sizeof(line), file)) {
		number++;
		good = sscanf(line, "core %63s", model->table.name) == 1 || !strcmp(line, "kind mcu\n") ||
		       *line == '#' || *line == '\n' || mcu_read_line(model->mcu, line);
		if (!good)
			fprintf(stderr, "%s:%u: not understood: %s", path, number, line);
	}
	if (file)
		fclose(file);
	if (good && (!*model->table.name || !mcu_complete(model->mcu))) {
		fprintf(stderr, "%s: the table is not complete\n", path);
		good = false;
	}
	if (!good)
		free(model->mcu);
	return good;
}

struct model *model_read(const char *path)
{
	struct model *model = calloc(1, sizeof(*model));

	if (model && is_of(path, "kind mcu\n")) {
		if (read_mcu(model, path))
			return model;
		free(model);
		return NULL;
	}
	if (!model || !table_read(&model->table, path)) {
		free(model);
		return NULL;
	}
	model->stub = is_of(path, "kind stub\n");
	if (model->stub)
		return model;
	model->core.table = &model->table;
	memory_start(&model->core.memory, &model->table);
	model_forget(model);
	return model;
}

const char *model_name(const struct model *model)
{
	return model->table.name;
}

struct code *code_decode(enum instruction_set set, uint64_t pc, const uint8_t *bytes, uint32_t instructions)
{
	uint32_t operations = set == SET_A64 ? instructions : 0;
	struct code *code = calloc(1, sizeof(*code) + operations * sizeof(code->operations[0]));

	if (!code) {
		perror("model");
		abort();
	}
	code->pc = pc;
	code->instructions = instructions;
	code->is_a64 = set == SET_A64;
	if (set == SET_T32)
		code->t32 = mcu_decode(pc, bytes, instructions);
	for (uint32_t i = 0; i < operations; i++) {
		const uint8_t *at = bytes + A64_BYTES * i;

		code->operations[i] = a64_operation(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
						    (uint32_t)at[3] << 24);
	}
	return code;
}

/* Code of an instruction set that the core has not, or the engine does not know: a cycle each, all of it outside. */
static void run_unknown(uint32_t instructions, struct spent *spent)
{
	spent->cycles[CAUSE_ISSUE] += instructions;
	spent->outside += instructions;
	spent->outside_instructions += instructions;
}

void model_run(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
	       size_t count, uint64_t next, struct spent *spent)
{
	struct core *core = &model->core;
	bool in_order = model->table.pipeline == PIPELINE_IN_ORDER;
	size_t at = 0;

	if (model->mcu && code->t32) {
		mcu_run(model->mcu, code->t32, instructions, accesses, count, next, spent);
		return;
	}
	if (model->stub || model->mcu || code->t32 || !code->is_a64) {
		run_unknown(instructions, spent);
		return;
	}
	for (uint32_t i = 0; i < instructions; i++) {
		const struct operation *operation = &code->operations[i];
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

void model_forget(struct model *model)
{
	struct core *core = &model->core;

	if (model->mcu)
		mcu_forget(model->mcu);
	if (model->mcu || model->stub)
		return;
	memory_forget(&core->memory);
	predictor_forget(&core->predictor, model->table.returns);
}
