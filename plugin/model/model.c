/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands a core's table, blocks and instructions to the engine of its kind. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "dual.h"
#include "mcu.h"
#include "operation.h"

#define A64_BYTES 4u

struct model {
	char name[64];
	struct mcu *mcu;   /* a microcontroller's; else NULL, */
	struct dual *dual; /* and so is that of one of two instructions a cycle; then the next two are used */
	struct table table;
	struct core core;
};

struct code {
	enum instruction_set set;
	uint64_t pc;
	struct mcu_code *mcu; /* of T32, for a microcontroller; all others take `operations` */
	struct operation *operations;
	struct operation *later; /* the same as a core of Armv8.1-M takes them; NULL if it takes them as others do */
	uint32_t first_branch;   /* its index; as many as there are instructions if there is none */
};

/* Whether it is a core of the M profile. */
static bool is_micro(const struct model *model)
{
	return model->mcu || model->dual;
}

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
		if (!strcmp(kind, "mcu-dual"))
			return (model->dual = dual_new()) != NULL;
		return table_read_kind(&model->table, kind);
	}
	if (model->dual)
		return dual_read_line(model->dual, line);
	return model->mcu ? mcu_read_line(model->mcu, line) : table_read_line(&model->table, line);
}

static bool is_complete(struct model *model)
{
	if (model->dual)
		return dual_complete(model->dual);
	return model->mcu ? mcu_complete(model->mcu) : table_is_complete(&model->table);
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
	if (!*model->name || !is_complete(model)) {
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
		free(model->dual);
		free(model);
		return NULL;
	}
	if (!is_micro(model))
		core_start(&model->core, &model->table);
	model_forget(model);
	return model;
}

const char *model_name(const struct model *model)
{
	return model->name;
}

static void *allocate(size_t count, size_t size)
{
	void *made = calloc(count ? count : 1, size);

	if (!made) {
		perror("model");
		abort();
	}
	return made;
}

static uint32_t word_at(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* T32 as Armv8.1-M has it, whose vectors have the words that Armv7-A's have. */
static struct operation *decode_later(const struct operation *operations, const uint8_t *at, uint32_t instructions)
{
	struct operation *later = NULL;

	for (uint32_t i = 0; i < instructions; i++) {
		struct operation operation;
		uint32_t word = at[0] | (uint32_t)at[1] << 8;

		if (operations[i].bytes == 4 &&
		    t32_81m_operation(word << 16 | at[2] | (uint32_t)at[3] << 8, &operation)) {
			if (!later) {
				later = allocate(instructions, sizeof(*later));
				memcpy(later, operations, instructions * sizeof(*later));
			}
			later[i] = operation;
		}
		at += operations[i].bytes;
	}
	return later;
}

/* Instructions of two or four bytes; behind an IT some depend on the flags. */
static void decode_t32(struct operation *operations, const uint8_t *at, uint32_t instructions)
{
	unsigned int if_then = 0;

	for (uint32_t i = 0; i < instructions; i++) {
		operations[i] = t32_operation(at, if_then);
		if_then = if_then ? if_then - 1 : t32_if_then(at);
		at += operations[i].bytes;
	}
}

static struct operation *decode(enum instruction_set set, const uint8_t *bytes, uint32_t instructions)
{
	struct operation *operations = allocate(instructions, sizeof(*operations));

	if (set == SET_T32) {
		decode_t32(operations, bytes, instructions);
		return operations;
	}
	for (uint32_t i = 0; i < instructions; i++) {
		uint32_t word = word_at(bytes + A64_BYTES * (size_t)i);

		operations[i] = set == SET_A64 ? a64_operation(word) : a32_operation(word);
	}
	return operations;
}

struct code *code_decode(enum instruction_set set, uint64_t pc, const uint8_t *bytes, uint32_t instructions)
{
	struct code *code = allocate(1, sizeof(*code));

	code->set = set;
	code->pc = pc;
	if (set == SET_T32)
		code->mcu = mcu_decode(pc, bytes, instructions);
	code->operations = decode(set, bytes, instructions);
	if (set == SET_T32)
		code->later = decode_later(code->operations, bytes, instructions);
	while (code->first_branch < instructions && !code->operations[code->first_branch].branch)
		code->first_branch++;
	return code;
}

static bool is_outside(const struct model *model, const struct operation *operation)
{
	return class_is_outside(operation->class) || !timing_of(&model->table, operation)->known;
}

static void run_big(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
		    size_t count, uint64_t next, struct spent *spent)
{
	struct core *core = &model->core;
	bool in_order = model->table.pipeline == PIPELINE_IN_ORDER;
	bool halfwords = code->set == SET_T32;
	uint64_t pc = code->pc;
	size_t at = 0;

	for (uint32_t i = 0; i < instructions; i++) {
		const struct operation *operation = &code->operations[i];
		uint64_t behind = pc + operation->bytes;
		struct step step = { .operation = operation,
				     .pc = pc,
				     .place = halfwords ? pc << 1 : pc,
				     .behind = behind,
				     .next = i + 1 == instructions ? next : behind,
				     .accesses = accesses + at };
		uint64_t before = core->clock;
		enum cause cause;

		while (at < count && accesses[at].instruction == i)
			at++;
		step.count = (size_t)(accesses + at - step.accesses);
		cause = in_order ? inorder_step(core, &step) : outorder_step(core, &step);
		spent->cycles[cause] += core->clock - before;
		if (is_outside(model, operation)) {
			spent->outside += core->clock - before;
			spent->outside_instructions++;
		}
		pc = behind;
	}
}

void model_run(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
	       size_t count, uint64_t next, struct spent *spent)
{
	if (model->mcu && code->mcu) {
		mcu_run(model->mcu, code->mcu, instructions, accesses, count, next, spent);
		return;
	}
	if (model->dual && code->set == SET_T32) {
		bool later = code->later && model->dual->numbers.mve;

		dual_run(model->dual, code->pc, later ? code->later : code->operations, instructions, accesses, count,
			 next, spent);
		return;
	}
	if (!is_micro(model)) {
		run_big(model, code, instructions, accesses, count, next, spent);
		return;
	}
	/* Nothing is known of that code on that core: one cycle each, and all of it outside. */
	spent->cycles[CAUSE_ISSUE] += instructions;
	spent->outside += instructions;
	spent->outside_instructions += instructions;
}

/* The lines of code from one instruction up to before another, as fetching them one by one would touch them. */
static void warm_code(struct model *model, uint64_t pc, uint64_t end)
{
	uint32_t bytes = model->table.line_bytes;

	for (; pc < end; pc += bytes - pc % bytes)
		memory_code(&model->core.memory, &model->table, pc);
}

static void warm_a64(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
		     size_t count, uint64_t next)
{
	uint64_t fetched = code->pc;

	/* Code and data share the second cache, so the order matters. */
	for (size_t i = 0; i < count; i++) {
		const struct access *access = &accesses[i];
		uint64_t behind = code->pc + A64_BYTES * ((uint64_t)access->instruction + 1);

		if (behind > fetched) {
			warm_code(model, fetched, behind);
			fetched = behind;
		}
		core_warm(&model->core, &code->operations[access->instruction], access);
	}
	warm_code(model, fetched, code->pc + A64_BYTES * (uint64_t)instructions);
	for (uint32_t i = code->first_branch; i < instructions; i++) {
		uint64_t pc = code->pc + A64_BYTES * (uint64_t)i;

		if (code->operations[i].branch)
			predictor_was_right(&model->core.predictor, pc, code->operations[i].branch,
					    i + 1 == instructions ? next : pc + A64_BYTES, pc + A64_BYTES);
	}
}

void model_warm(struct model *model, const struct code *code, uint32_t instructions, const struct access *accesses,
		size_t count, uint64_t next)
{
	struct spent dropped = { .outside = 0 };

	if (!is_micro(model) && code->set == SET_A64)
		warm_a64(model, code, instructions, accesses, count, next);
	else
		model_run(model, code, instructions, accesses, count, next, &dropped);
}

uint32_t model_outside(const struct model *model, const struct code *code, uint32_t instructions)
{
	uint32_t outside = 0;

	if (is_micro(model))
		return instructions;
	for (uint32_t i = 0; i < instructions; i++)
		outside += is_outside(model, &code->operations[i]);
	return outside;
}

void model_forget(struct model *model)
{
	if (model->mcu)
		mcu_forget(model->mcu);
	else if (model->dual)
		dual_forget(model->dual);
	else
		core_forget(&model->core);
}
