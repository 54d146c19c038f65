/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU plugin of a test: before each single instruction of one pass it asks the processor whether an interrupt of the
 * normal world would wait. It knows nothing of blocks, exceptions, stacks and of the instructions that mask.
 *
 *   mark=ADDRESS  where the region begins (guest/bench/region.h)
 *   before=N      passes of that mark before the one that is looked at
 *   out=FILE      a line for each stretch in which it would: instructions before it, its own, the addresses of its first
 *                 and of its last; at the end a line with the pass's instructions
 *
 * An instruction that faults and is executed again counts again.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qemu-plugin.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define HINT_BEGIN 0xd5032c1fu /* hint #96 */
#define HINT_END 0xd5032c3fu   /* hint #97 */
/* From the mark to the reading of the counter: hint, isb. */
#define READING 8

struct instruction {
	uint64_t pc;
	uint32_t word;
};

static uint64_t mark;
static uint64_t before;
static FILE *output;
static struct qemu_plugin_register *state_register;
static struct qemu_plugin_register *world_register;
static struct qemu_plugin_register *vectors_register; /* of EL1 */
static GByteArray *scratch;

static bool looking;
static unsigned int inner; /* regions within the pass that have not ended */
static uint64_t count;
static bool secure;
static unsigned int level;

static bool waits; /* before the instruction that was looked at last */
static uint64_t since;
static uint64_t first;
static uint64_t last;

static struct qemu_plugin_register *named(const GArray *list, const char *name)
{
	for (guint i = 0; i < list->len; i++) {
		const qemu_plugin_reg_descriptor *descriptor = &g_array_index(list, qemu_plugin_reg_descriptor, i);

		if (!strcmp(descriptor->name, name))
			return descriptor->handle;
	}
	fprintf(stderr, "looking: QEMU shows no register %s\n", name);
	exit(1);
}

static void on_processor(qemu_plugin_id_t id, unsigned int processor)
{
	GArray *list = qemu_plugin_get_registers();

	(void)id;
	(void)processor;
	scratch = g_byte_array_new();
	state_register = named(list, "cpsr");
	world_register = named(list, "SCR_EL3");
	vectors_register = named(list, "VBAR");
	g_array_free(list, TRUE);
}

static uint64_t value(struct qemu_plugin_register *of)
{
	uint64_t found = 0;
	int size;

	g_byte_array_set_size(scratch, 0);
	size = qemu_plugin_read_register(of, scratch);
	if (size > 0 && size <= (int)sizeof(found))
		memcpy(&found, scratch->data, (size_t)size);
	return found;
}

static void end_stretch(void)
{
	if (waits)
		fprintf(output, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", since, count - since, first, last);
	waits = false;
}

/* Whether an interrupt of the normal world has just arrived: at EL1's vector, of an IRQ there, or of an FIQ in OP-TEE. */
static bool has_arrived(uint64_t pc)
{
	uint64_t offset = pc - value(vectors_register);

	return level == 1 && offset < 0x800 && !(offset & 0x7f) && (offset >> 7 & 3) == (secure ? 2 : 1);
}

static void look(uint64_t pc)
{
	uint64_t state = value(state_register);
	unsigned int was = level;
	bool now;

	level = (unsigned int)(state >> 2) & 3;
	/* EL3 alone changes the world. */
	if (was == 3 && level != 3)
		secure = !(value(world_register) & 1);
	/* PSTATE.F in the secure world, PSTATE.I in the normal one. */
	now = level == 3 || (state >> (secure ? 6 : 7) & 1);
	/* The instruction before may have let it in at once: then none was executed that waited no longer. */
	if (!now || has_arrived(pc))
		end_stretch();
	if (now && !waits) {
		waits = true;
		since = count;
		first = pc;
	}
	last = pc;
	count++;
}

static void on_instruction(unsigned int processor, void *data)
{
	const struct instruction *at = data;

	(void)processor;
	if (looking && at->word == HINT_BEGIN) {
		inner++;
	} else if (looking && at->word == HINT_END && !inner--) {
		looking = false;
		/* The reading before the hint is not of the region. */
		count--;
		end_stretch();
		fprintf(output, "%" PRIu64 "\n", count);
		fflush(output);
	} else if (!looking && mark && at->pc == mark + READING && !before--) {
		looking = true;
		mark = 0;
	}
	if (looking)
		look(at->pc);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *translation)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(translation); i++) {
		struct qemu_plugin_insn *of = qemu_plugin_tb_get_insn(translation, i);
		struct instruction *at = g_new0(struct instruction, 1);

		at->pc = qemu_plugin_insn_vaddr(of);
		(void)qemu_plugin_insn_data(of, &at->word, sizeof(at->word));
		qemu_plugin_register_vcpu_insn_exec_cb(of, on_instruction, QEMU_PLUGIN_CB_R_REGS, at);
	}
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "mark=", 5))
			mark = strtoull(argv[i] + 5, NULL, 0);
		else if (!strncmp(argv[i], "before=", 7))
			before = strtoull(argv[i] + 7, NULL, 0);
		else if (!strncmp(argv[i], "out=", 4))
			output = fopen(argv[i] + 4, "w");
	}
	if (!mark || !output)
		return -1;
	qemu_plugin_register_vcpu_init_cb(id, on_processor);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
