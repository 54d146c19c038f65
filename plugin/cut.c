/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU plugin: the power cut. It counts the instructions from the first mark of a region (guest/bench/region.h) on, and
 * ends the emulator at once when so many have been executed: the machine is dead in the midst of what it did. With
 * several numbers it goes on instead, and writes down each time how long files of the host are by then: what a machine
 * that ended there would have left. Without a number it only counts, and writes down how many instructions there are up
 * to the region's end.
 *
 *   at=N        end the emulator before instruction N + 1; 0 never
 *   points=N:N  before each instruction N + 1 write a line to `out`: N, and the sizes of `files` in bytes; these numbers
 *               rise, from 1 on
 *   files=F:F   the host's files; one that is not there has 0 bytes
 *   out=FILE    where these lines are written, or else the region's length, as a number and a newline
 *
 * An instruction counts when its execution begins; one that is interrupted and repeated counts again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <qemu-plugin.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define HINT_BEGIN 0xd5032c1fu /* hint #96 */
#define HINT_END 0xd5032c3fu   /* hint #97 */

/* Before the region: so far that no number of instructions is reached from here. */
#define NOT_YET (UINT64_C(1) << 62)
/* The count at which something is to be done: QEMU compares with one constant, so the count begins this much nearer. */
#define NOW (UINT64_C(1) << 61)

static struct qemu_plugin_scoreboard *board;
static qemu_plugin_u64 executed;
static uint64_t last;
static const char *points;
static char *files;
static const char *output;
static FILE *notes;
static int begun;

static _Noreturn void fail(const char *name)
{
	fprintf(stderr, "cut: %s: %s\n", name, strerror(errno));
	_exit(1);
}

/* The next of the points; 0 after the last. */
static uint64_t next_point(void)
{
	char *end;
	uint64_t point = strtoull(points, &end, 10);

	points = *end == ':' ? end + 1 : end;
	return point;
}

static void at_begin(unsigned int vcpu, void *unused)
{
	(void)unused;
	/* The mark itself is not of the region. */
	if (!begun && points)
		last = next_point();
	if (!begun)
		qemu_plugin_u64_set(executed, vcpu, last ? NOW - (last + 1) : 0);
	begun = 1;
}

static void at_end(unsigned int vcpu, void *unused)
{
	uint64_t count = qemu_plugin_u64_get(executed, vcpu);
	FILE *f;

	(void)unused;
	if (!begun || !output || last || points)
		return;
	f = fopen(output, "w");
	if (!f || fprintf(f, "%" PRIu64 "\n", count) < 0 || fclose(f))
		fail(output);
	output = NULL;
}

/* One line: the point that is reached, and the files' sizes. Then the count begins anew for the next point. */
static void note(unsigned int vcpu, void *unused)
{
	uint64_t reached = last;
	char *rest = files;

	(void)unused;
	if (fprintf(notes, "%" PRIu64, reached) < 0)
		fail(output);
	while (rest && *rest) {
		size_t length = strcspn(rest, ":");
		char more = rest[length];
		struct stat found;

		rest[length] = '\0';
		if (stat(rest, &found)) {
			if (errno != ENOENT)
				fail(rest);
			found.st_size = 0;
		}
		if (fprintf(notes, " %" PRIu64, (uint64_t)found.st_size) < 0)
			fail(output);
		rest[length] = more;
		rest += length + (more != '\0');
	}
	if (fputc('\n', notes) == EOF || fflush(notes))
		fail(output);
	last = next_point();
	qemu_plugin_u64_set(executed, vcpu, last ? NOW - (last - reached) : NOT_YET);
}

static void power_off(unsigned int vcpu, void *unused)
{
	(void)vcpu;
	(void)unused;
	/* Nothing is flushed, nothing is closed in good order. */
	_exit(0);
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		uint32_t code = 0;

		(void)qemu_plugin_insn_data(instruction, &code, sizeof(code));
		/* Callbacks come in the order in which they are registered here. */
		if (code == HINT_END)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, at_end, QEMU_PLUGIN_CB_NO_REGS, NULL);
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, QEMU_PLUGIN_INLINE_ADD_U64, executed,
								    1);
		if (last || points)
			qemu_plugin_register_vcpu_insn_exec_cond_cb(instruction, points ? note : power_off,
								    QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_EQ,
								    executed, NOW, NULL);
		if (code == HINT_BEGIN)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, at_begin, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

static void on_processor(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	qemu_plugin_u64_set(executed, vcpu, NOT_YET);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		char *end = argv[i];

		if (!strncmp(argv[i], "at=", 3))
			last = strtoull(argv[i] + 3, &end, 10);
		else if (!strncmp(argv[i], "points=", 7))
			points = end = strdup(argv[i] + 7);
		else if (!strncmp(argv[i], "files=", 6))
			files = end = strdup(argv[i] + 6);
		else if (!strncmp(argv[i], "out=", 4))
			output = end = strdup(argv[i] + 4);
		if (end == argv[i] || (!strncmp(argv[i], "at=", 3) && *end)) {
			fprintf(stderr, "cut: '%s' is no argument of this plugin\n", argv[i]);
			return -1;
		}
	}
	if (points && output)
		notes = fopen(output, "w");
	if (points && !notes) {
		fprintf(stderr, "cut: %s: %s\n", output ? output : "points without out", strerror(errno));
		return -1;
	}
	board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	executed = qemu_plugin_scoreboard_u64(board);
	qemu_plugin_register_vcpu_init_cb(id, on_processor);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	return 0;
}
