/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first process of the measured machine. It brings the machine to one known, idle state, lets the host take its
 * snapshot there, settles what the program draws and whether timers interrupt it, and then runs the one program that the
 * case names.
 *
 * /etc/modules lists kernel modules, /etc/daemons programs to leave running, one a line, in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../bench/record.h"
#include "../bench/region.h"
#include "../bench/semihost.h"
#include "settle.h"

/* Virtual seconds: time enough for what start-up left behind (work queues, deferred probes) to finish. */
#define SETTLE_SECONDS 5
#define MAX_ARGUMENTS 16

static _Noreturn void give_up(const char *what)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "init: %s: %s", what, strerror(errno));
	fprintf(stderr, "%s\n", text);
	record_begin("error");
	record_text("message", text);
	record_end();
	semihost_exit(1);
}

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		give_up(path);
	close(fd);
}

static void start_daemon(const char *path)
{
	pid_t child = fork();

	if (child < 0)
		give_up(path);
	if (child == 0) {
		execl(path, path, (char *)NULL);
		give_up(path);
	}
}

static void for_each_line(const char *file, void (*act)(const char *line))
{
	char line[256];
	FILE *f = fopen(file, "re");

	if (!f)
		return; /* a machine without modules or daemons has no such file */
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		act(line);
	}
	(void)fclose(f);
}

/* Loop turns, about a tenth of a second of the host's time: the emulator's main loop has gone to sleep meanwhile. */
#define QUIET_TURNS 10000000

/*
 * The host sets a breakpoint here and stops the machine, at the same instruction on every boot, to take its snapshot.
 * What follows runs once per case.
 *
 * As it stops, the emulator takes the stopped machine for an idle one and skips virtual time to the next timer event:
 * always, provided its main loop was asleep. The counter's readings on both sides let the host see that it did.
 */
__attribute__((noinline)) static void machine_ready(void)
{
	char text[64];
	uint64_t ready;
	uint64_t resumed;
	int length;
	long handle;

	for (volatile int turn = 0; turn < QUIET_TURNS; turn++)
		;
	ready = bench_counter();
	__asm__ volatile(".globl worldwise_machine_ready\nworldwise_machine_ready:\n\tnop" : : : "memory");
	resumed = bench_counter();

	length = snprintf(text, sizeof(text), "%llu %llu\n", (unsigned long long)ready, (unsigned long long)resumed);
	handle = semihost_open("machine", "w");
	if (handle < 0 || semihost_write(handle, text, (size_t)length))
		give_up("machine");
}

/* What a case settles: see `settings` in the tool's targets/inputs.py. */
static void settle(const char *setting)
{
	uint8_t seed[SEED_BYTES] = { 0 };

	if (!strcmp(setting, "quiet")) {
		if (settle_quiet())
			give_up("timers");
	} else if (!strncmp(setting, "draw=", 5)) {
		/* For a portable implementation: draw.c. */
		if (setenv("WORLDWISE_DRAW", setting + 5, 1))
			give_up("draw");
	} else if (!strncmp(setting, "seed=", 5) && !settle_read(setting + 5, seed)) {
		/* For OP-TEE's core, and for what the program draws itself: guest/inputs/inputs.c. */
		if (settle_seed(seed) || setenv("WORLDWISE_SEED", setting + 5, 1))
			give_up("seed");
	} else {
		errno = EINVAL;
		give_up(setting);
	}
}

/* Reads the case: the program and its arguments, one a line, and settings behind a +. */
static void read_case(char *text, size_t size, char *argv[MAX_ARGUMENTS + 1])
{
	long handle = semihost_open("case", "r");
	long length = handle < 0 ? -1 : semihost_read(handle, text, size - 1);
	int count = 0;

	if (length <= 0) {
		errno = ENOENT;
		give_up("case");
	}
	for (char *rest = text, *line; count < MAX_ARGUMENTS && (line = strtok_r(rest, "\n", &rest));)
		if (*line == '+')
			settle(line + 1);
		else
			argv[count++] = line;
	argv[count] = NULL;
}

static int run_case(char *argv[])
{
	int status;
	char text[120];
	pid_t child = fork();

	if (child < 0)
		give_up("fork");
	if (child == 0) {
		execv(argv[0], argv);
		give_up(argv[0]);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			give_up("waitpid");
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	(void)snprintf(text, sizeof(text), "%.80s: killed by signal %d", argv[0], WTERMSIG(status));
	record_begin("error");
	record_text("message", text);
	record_end();
	return 1;
}

int main(void)
{
	static char text[1024];
	char *argv[MAX_ARGUMENTS + 1];
	struct timespec settle = { .tv_sec = SETTLE_SECONDS };

	record_to(semihost_record);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL) ||
	    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL))
		give_up("mount");
	for_each_line("/etc/modules", load_module);
	for_each_line("/etc/daemons", start_daemon);
	/* Waits until the kernel's generator is seeded, which it would otherwise make the first case that asks wait for. */
	if (getrandom(text, 1, 0) != 1)
		give_up("getrandom");
	while (nanosleep(&settle, &settle))
		if (errno != EINTR)
			give_up("nanosleep");
	machine_ready();
	read_case(text, sizeof(text), argv);
	semihost_exit(run_case(argv));
}
