/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU plugin: whether calls of one function execute the same instructions and access the same addresses. One processor,
 * the first; any instruction set, since nothing is decoded.
 *
 *   function=PC      the calls of the function there are compared, each up to its return
 *   anywhere=yes     the function is at that place of any page; the last line says of which, and nothing is compared
 *   code=HEX         what the function begins with: another program's instructions at its address are not it
 *   first=N          the call with this number, from 0, is the reference for all behind it; those before are not looked at
 *   every=N          of those behind it, every N-th is compared
 *   functions=FILE   where functions begin and end: pairs of 64-bit little-endian numbers in ascending order
 *   skip=FROM-TO     what stands from one address on and before the other is not looked at: interrupts, Linux
 *   only=FROM-TO     nor is what stands elsewhere: other worlds than a TA's
 *   out=FILE         where lines of JSON go: one for each call, one for each instruction at which a call parts from the
 *                    reference, and a last one
 *
 * The reference and the call under way are kept in memory: about 8 bytes for an access and 24 for a branch that is taken.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>
#include <qemu-plugin.h>

#include "compare.h"
#include "partings.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define PAGE 4096u

/* Instructions that the emulator translated together. */
struct block {
	uint64_t pc;
	uint32_t bytes;
	uint32_t instructions;
};

static FILE *out;
static uint64_t function;
static GByteArray *code;
static uint64_t first;
static uint64_t every = 1;
static uint64_t skip_from;
static uint64_t skip_to;
static uint64_t only_from;
static uint64_t only_to = UINT64_MAX;
/* Of an address, the bits that must be the function's. */
static uint64_t place_mask = UINT64_MAX;
static uint64_t found_at;

static struct map instructions;
static struct program program = { .instructions = &instructions };
static struct stream reference;
static struct stream call;

static bool inside;
static uint64_t passes;
static struct stream *recorded; /* NULL: this call is not looked at */
static uint64_t returns_to;
static struct qemu_plugin_register *link_register;
static const struct block *last;

static struct qemu_plugin_scoreboard *board;
static qemu_plugin_u64 reached_last;

/* Whether what is at an address is the function. */
static bool is_function(uint64_t pc)
{
	static GByteArray *found;

	if (!found)
		found = g_byte_array_new();
	return qemu_plugin_read_memory_vaddr(pc, found, code->len) && !memcmp(found->data, code->data, code->len);
}

/* Where a function that was just called returns to. Its lowest bit may mark Thumb code. */
static uint64_t return_address(void)
{
	static GByteArray *bytes;
	uint64_t value = 0;

	if (!bytes)
		bytes = g_byte_array_new();
	g_byte_array_set_size(bytes, 0);
	if (link_register && qemu_plugin_read_register(link_register, bytes) > 0)
		memcpy(&value, bytes->data, MIN(bytes->len, sizeof(value)));
	return value & ~UINT64_C(1);
}

static void begin_call(uint64_t pc)
{
	found_at = pc;
	inside = place_mask == UINT64_MAX;
	returns_to = return_address();
	last = NULL;
	recorded = passes == first ? &reference : &call;
	if (passes < first || (passes - first) % every)
		recorded = NULL;
	if (recorded)
		stream_empty(recorded);
}

static void end_call(void)
{
	inside = false;
	if (recorded)
		fprintf(out,
			"{\"type\":\"pass\",\"pass\":%" PRIu64 ",\"instructions\":%" PRIu32 ",\"runs\":%zu"
			",\"accesses\":%zu}\n",
			passes, recorded->instructions, recorded->run_count, recorded->access_count);
	if (recorded == &call) {
		compare_streams(&reference, &call, &program, partings_add, NULL);
		partings_write(out, passes);
	}
	passes++;
}

/* Of the block before, the instructions from `pc` on were not executed: an exception came, and they come now. */
static void take_back(uint64_t pc)
{
	uint32_t rest = 0;

	for (uint64_t at = pc; at < last->pc + last->bytes; at += 2)
		rest += map_get(&instructions, at) != NULL;
	stream_take_back(recorded, (uint32_t)(last->pc + last->bytes - pc), rest);
}

static bool may_be_function(const struct block *block)
{
	return !((block->pc ^ function) & place_mask);
}

static void enter_block(unsigned int processor, void *data)
{
	const struct block *block = data;

	if (processor)
		return;
	if (inside && block->pc == returns_to)
		end_call();
	if (!inside && may_be_function(block) && is_function(block->pc))
		begin_call(block->pc);
	if (!inside || !recorded)
		return;
	if (last && !qemu_plugin_u64_get(reached_last, 0) && block->pc >= last->pc &&
	    block->pc < last->pc + last->bytes)
		take_back(block->pc);
	qemu_plugin_u64_set(reached_last, 0, 0);
	last = block;
	stream_block(recorded, block->pc, block->bytes, block->instructions);
}

static void take_access(unsigned int processor, qemu_plugin_meminfo_t info, uint64_t address, void *pc)
{
	(void)info;
	if (!processor && inside && recorded)
		stream_access(recorded, (uint64_t)(uintptr_t)pc, address);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *translation)
{
	size_t count = qemu_plugin_tb_n_insns(translation);
	uint64_t from = qemu_plugin_tb_vaddr(translation);
	struct block *block;

	(void)id;
	if ((from >= skip_from && from < skip_to) || from < only_from || from >= only_to)
		return;
	block = g_new0(struct block, 1);
	block->pc = from;
	block->instructions = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translation, i);
		uint64_t pc = qemu_plugin_insn_vaddr(instruction);

		block->bytes += (uint32_t)qemu_plugin_insn_size(instruction);
		if (!map_get(&instructions, pc))
			map_put(&instructions, pc, 1);
		/* Callbacks come in the order in which they are registered. */
		if (i == 0)
			qemu_plugin_register_vcpu_insn_exec_cb(
				instruction, enter_block,
				may_be_function(block) ? QEMU_PLUGIN_CB_R_REGS : QEMU_PLUGIN_CB_NO_REGS, block);
		if (i == count - 1)
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, QEMU_PLUGIN_INLINE_STORE_U64,
									    reached_last, 1);
		qemu_plugin_register_vcpu_mem_cb(instruction, take_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
						 (void *)(uintptr_t)pc);
	}
}

static void on_processor(qemu_plugin_id_t id, unsigned int processor)
{
	GArray *registers = qemu_plugin_get_registers();

	(void)id;
	for (guint i = 0; !processor && i < registers->len; i++) {
		const qemu_plugin_reg_descriptor *found = &g_array_index(registers, qemu_plugin_reg_descriptor, i);

		if (!strcmp(found->name, "lr") || !strcmp(found->name, "x30"))
			link_register = found->handle;
	}
	g_array_free(registers, TRUE);
}

static void on_exit(qemu_plugin_id_t id, void *unused)
{
	(void)id;
	(void)unused;
	fprintf(out, "{\"type\":\"end\",\"passes\":%" PRIu64 ",\"inside\":%s,\"entry\":%" PRIu64 "}\n", passes,
		inside ? "true" : "false", found_at);
	if (fclose(out))
		perror("secrets: out");
}

static bool read_number(const char *text, uint64_t *number, char end)
{
	char *rest;

	*number = strtoull(text, &rest, 0);
	return *text >= '0' && *text <= '9' && *rest == end;
}

static bool read_range(const char *text, uint64_t *from, uint64_t *to)
{
	const char *second = strchr(text, '-');

	return second && read_number(text, from, '-') && read_number(second + 1, to, '\0');
}

static bool read_code(const char *text)
{
	for (; g_ascii_isxdigit(text[0]) && g_ascii_isxdigit(text[1]); text += 2) {
		guint8 byte = (guint8)(g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]));

		g_byte_array_append(code, &byte, 1);
	}
	return code->len && !*text;
}

static bool read_functions(const char *path)
{
	gchar *content;
	gsize length;

	if (!g_file_get_contents(path, &content, &length, NULL))
		return false;
	/* GLib's memory is aligned for every type. */
	program.functions = (const struct function *)(void *)content;
	program.function_count = length / sizeof(*program.functions);
	return length % sizeof(*program.functions) == 0;
}

static bool read_argument(const char *argument)
{
	if (!strncmp(argument, "function=", 9))
		return read_number(argument + 9, &function, '\0');
	if (!strncmp(argument, "code=", 5))
		return read_code(argument + 5);
	if (!strncmp(argument, "first=", 6))
		return read_number(argument + 6, &first, '\0');
	if (!strncmp(argument, "every=", 6))
		return read_number(argument + 6, &every, '\0') && every;
	if (!strncmp(argument, "functions=", 10))
		return read_functions(argument + 10);
	if (!strncmp(argument, "skip=", 5))
		return read_range(argument + 5, &skip_from, &skip_to);
	if (!strncmp(argument, "only=", 5))
		return read_range(argument + 5, &only_from, &only_to);
	if (!strcmp(argument, "anywhere=yes")) {
		place_mask = PAGE - 1;
		return true;
	}
	if (strncmp(argument, "out=", 4))
		return false;
	out = fopen(argument + 4, "w");
	return out;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	code = g_byte_array_new();
	for (int i = 0; i < argc; i++)
		if (!read_argument(argv[i])) {
			fprintf(stderr, "secrets: '%s' is no argument of this plugin, or cannot be done\n", argv[i]);
			return -1;
		}
	if (!out || !function || !code->len) {
		fprintf(stderr, "secrets: needs out=FILE, function=PC and code=HEX\n");
		return -1;
	}
	board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	reached_last = qemu_plugin_scoreboard_u64(board);
	qemu_plugin_register_vcpu_init_cb(id, on_processor);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit, NULL);
	return 0;
}
