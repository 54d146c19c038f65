/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model.h"

#include <stdlib.h>

#include "core.h"
#include "operation.h"

#define A64_BYTES 4u

struct model {
	struct table table;
	struct core core;
};

struct code {
	uint64_t pc;
	uint32_t instructions;
	struct operation operations[];
};

struct model *model_read(const char *path)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model || !table_read(&model->table, path)) {
		free(model);
		return NULL;
	}
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
	struct code *code = malloc(sizeof(*code) + instructions * sizeof(code->operations[0]));

	(void)set;
	code->pc = pc;
	code->instructions = instructions;
	for (uint32_t i = 0; i < instructions; i++) {
		const uint8_t *at = bytes + A64_BYTES * i;

		code->operations[i] = a64_operation(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
						    (uint32_t)at[3] << 24);
	}
	return code;
}

void model_run(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
	       size_t count, uint64_t next, struct spent *spent)
{
	struct core *core = &model->core;
	bool in_order = model->table.pipeline == PIPELINE_IN_ORDER;
	size_t at = 0;

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

	memory_forget(&core->memory);
	predictor_forget(&core->predictor, model->table.returns);
}
