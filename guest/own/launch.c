/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts a user's own program, unchanged, and reads the counter around its life. The host brings this program, and with
 * it two files: `order` (words that each end with a zero byte: the program, its arguments, what to do, how often) and
 * `files.cpio` (the program, its libraries and its files, in cpio's format newc). The program's words come first: Linux
 * copies them into its memory, and how many instructions that takes depends on where in a word of memory they begin.
 *
 * To do: `find` starts the program once and tells in `maps` where all of it lies as it ends; `count` starts it so many
 * times, one after the other, with a measured region around each life. The file `launched` has a line for each life.
 * `exec` is the same, and gives the host all that the program wrote, its errors apart from its output.
 *
 * With LOOPBACK it is another program, for code that needs a network: each page more in this one would move counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LOOPBACK
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#endif /* LOOPBACK */

#include "../bench/record.h"
#include "../bench/region.h"
#include "../bench/semihost.h"
#include "../linux/idle.h"
#include "period.h"

#define ORDER "/machine/order"
#define FILES "/machine/files.cpio"
#define OUTPUT "/output"
#define ERRORS "/errors"
#define INPUT "/input"
#define ROOM "/work"
#define MAX_ORDER 65536
#define MAX_WORDS 1024
#define CHUNK 65536
/* Bytes that the program may write to a file, its output among them. */
#define MOST_WRITTEN (64L * 1024 * 1024)
/* Bytes of its output, and of its errors, that the host is given if it did not ask for all. */
#define MOST_SHOWN (32 * 1024)

/* cpio's format newc: a head of 6 and 13 times 8 characters, then the name and the content, each up to a multiple of 4. */
#define HEAD 110
#define FIELD 8
#define FIELD_MODE 1
#define FIELD_SIZE 6
#define FIELD_NAME 11
#define LAST "TRAILER!!!"

static char *const environment[] = { "HOME=" ROOM, "LANG=C", "PATH=/usr/bin:/bin", NULL };

/* A file of its own: the program may have records too. */
static int keep_record(const char *line, size_t length)
{
	long handle = semihost_open("started", "a");

	return handle < 0 ? -1 : semihost_write(handle, line, length);
}

static _Noreturn void give_up(const char *what)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "%.120s: %s", what, strerror(errno));
	record_begin("error");
	record_text("message", text);
	record_end();
	exit(1);
}

static void take(long archive, void *to, size_t size)
{
	char *next = to;

	while (size) {
		long got = semihost_read(archive, next, size < CHUNK ? size : CHUNK);

		errno = EIO;
		if (got <= 0)
			give_up(FILES);
		next += got;
		size -= (size_t)got;
	}
}

static size_t field(const char *head, int number)
{
	char text[FIELD + 1] = { 0 };

	memcpy(text, head + 6 + FIELD * number, FIELD);
	return strtoul(text, NULL, 16);
}

static void write_file(const char *name, mode_t mode, long archive, size_t size)
{
	static char piece[CHUNK];
	size_t rest = size;
	int file;

	/* A fresh file: a library that other processes have must not get a second address in their memory. */
	(void)unlink(name);
	file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
	if (file < 0)
		give_up(name);
	while (rest) {
		size_t now = rest < sizeof(piece) ? rest : sizeof(piece);

		take(archive, piece, now);
		if (write(file, piece, now) != (ssize_t)now)
			give_up(name);
		rest -= now;
	}
	close(file);
	take(archive, piece, (4 - size % 4) % 4);
}

/* Lays down what the host brings. */
static void unpack(void)
{
	long archive = semihost_open(FILES, "r");

	if (archive < 0)
		give_up(FILES);
	for (;;) {
		char head[HEAD];
		char name[4096];
		char padding[4];
		size_t length;
		size_t mode;

		take(archive, head, HEAD);
		mode = field(head, FIELD_MODE);
		length = field(head, FIELD_NAME);
		errno = ENAMETOOLONG;
		if (!length || length >= sizeof(name))
			give_up(FILES);
		name[0] = '/';
		take(archive, name + 1, length);
		take(archive, padding, (4 - (HEAD + length) % 4) % 4);
		if (!strcmp(name + 1, LAST))
			return;
		if ((mode & S_IFMT) == S_IFDIR) {
			if (mkdir(name, 0755) && errno != EEXIST)
				give_up(name);
		} else {
			write_file(name, (mode_t)mode, archive, field(head, FIELD_SIZE));
		}
	}
}

/* A new file to which is written at its end. */
static int written(const char *name)
{
	return open(name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
}

/* What the program finds as its standard files: an empty input, or that of the order; output and errors are two. */
static void give_files(void)
{
	int input = open(INPUT, O_RDONLY);
	int output = written(OUTPUT);
	int errors = written(ERRORS);

	if (input < 0)
		input = open("/dev/null", O_RDONLY);
	if (input < 0 || errors < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0)
		give_up("standard files");
	if (input > 2)
		close(input);
	if (output > 2)
		close(output);
	if (errors > 2)
		close(errors);
	(void)mkdir(ROOM, 0755);
	if (chdir(ROOM))
		give_up(ROOM);
}

#ifdef LOOPBACK
/* Brings the loopback interface up; Linux then gives it 127.0.0.1 by itself. There is no other. */
static void begin_loopback(void)
{
	struct ifreq interface = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int socket_of = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (socket_of < 0 || ioctl(socket_of, SIOCSIFFLAGS, &interface))
		give_up("the loopback interface");
	close(socket_of);
}
#endif /* LOOPBACK */

static _Noreturn void become(char *const argv[])
{
	struct rlimit most = { .rlim_cur = MOST_WRITTEN, .rlim_max = MOST_WRITTEN };

	(void)setrlimit(RLIMIT_FSIZE, &most);
	(void)lseek(0, 0, SEEK_SET);
	execve(argv[0], argv, environment);
	_exit(127);
}

static void tell(long handle, const char *text)
{
	errno = EIO;
	if (semihost_write(handle, text, strlen(text)))
		give_up("write to the host");
}

static long create(const char *name)
{
	long handle = semihost_open(name, "w");

	if (handle < 0)
		give_up(name);
	return handle;
}

/* Appends up to `most` bytes of a file of the guest. */
static void copy(long handle, const char *path, size_t most)
{
	static char piece[CHUNK];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (file < 0)
		give_up(path);
	while (most && (got = read(file, piece, most < sizeof(piece) ? most : sizeof(piece))) > 0) {
		errno = EIO;
		if (semihost_write(handle, piece, (size_t)got))
			give_up("write to the host");
		most -= (size_t)got;
	}
	close(file);
}

static void tell_life(long handle, uint64_t begin, uint64_t end, int status, uint64_t idle)
{
	char text[160];

	(void)snprintf(text, sizeof(text), "%llu %llu %d %d %llu\n", (unsigned long long)begin, (unsigned long long)end,
		       WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		       (unsigned long long)idle);
	tell(handle, text);
}

/* Lets a traced process go on, with the signal that it was sent, if it was stopped by one. */
static void let_go(pid_t process, int status)
{
	int sent = WSTOPSIG(status);

	(void)ptrace(PTRACE_CONT, process, NULL, status >> 16 || sent == SIGTRAP || sent == SIGSTOP ? 0 : (long)sent);
}

/* The kernel's code in user space, which is in no file: it is one ELF file, with its sections' headers at its end. */
static void tell_vdso(void)
{
	const char *start = (const char *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)start;
	long handle = create("vdso");

	errno = EIO;
	if (start && semihost_write(handle, start, head->e_shoff + (size_t)head->e_shnum * head->e_shentsize))
		give_up("vdso");
}

/* A child under ptrace, which goes on as the program. Inline: what counts has no call more for it. */
static inline __attribute__((always_inline)) void trace_child(pid_t child, char *const argv[], int *status, int options)
{
	if (child < 0)
		give_up("fork");
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(126);
		(void)raise(SIGSTOP);
		become(argv);
	}
	if (waitpid(child, status, 0) != child || !WIFSTOPPED(*status) ||
	    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | options))
		give_up("ptrace");
	(void)ptrace(PTRACE_CONT, child, NULL, NULL);
}

/* One life under ptrace, which moves no address: tells what is mapped as the program ends. Returns how it ended. */
static int find(char *const argv[])
{
	long maps = create("maps");
	char path[40];
	int ended = 0;
	int status;
	pid_t process;
	pid_t child = fork();

	trace_child(child, argv, &status, PTRACE_O_TRACEEXIT);
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)child);
	while ((process = waitpid(child, &status, 0)) > 0 || errno == EINTR) {
		if (process < 0)
			continue;
		if (!WIFSTOPPED(status)) {
			ended = status;
			break;
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			copy(maps, path, SIZE_MAX);
		let_go(child, status);
	}
	return ended;
}

/*
 * Linux keeps what a task has run in periods of about 2^20 ns and in steps of 2^10: how many instructions it executes for
 * a life depends on where in them that begins. So each begins where a period of the counter does, to the instruction: the
 * loop ends some instructions behind the beginning, and of the 256 behind it the rest is executed.
 */
static void wait_for_period(void)
{
	uint64_t period = bench_counter() >> 20;

	while (bench_counter() >> 20 == period)
		;
	wait_within_period();
}

static void count(char *const argv[], unsigned long times)
{
	long handle = create("launched");

	while (times--) {
		uint64_t idle = idle_entries();
		uint64_t begin;
		uint64_t end;
		int status;
		pid_t child;

		wait_for_period();
		begin = bench_region_begin();
		child = fork();
		if (child == 0)
			become(argv);
		while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		end = bench_region_end();
		if (child < 0)
			give_up("fork");
		tell_life(handle, begin, end, status, idle_entries() - idle);
	}
}

/* What the host wants: what to do, how often, and the program with its arguments. */
struct order {
	const char *what;
	unsigned long times;
	char *argv[MAX_WORDS + 1];
};

static void read_order(struct order *order)
{
	static char text[MAX_ORDER + 1];
	long handle = semihost_open(ORDER, "r");
	long length = handle < 0 ? -1 : semihost_read(handle, text, MAX_ORDER);
	int number = 0;

	if (length <= 0)
		give_up(ORDER);
	for (char *next = text; next < text + length && number < MAX_WORDS; next += strlen(next) + 1)
		order->argv[number++] = next;
	errno = EINVAL;
	if (number < 3)
		give_up(ORDER);
	order->times = strtoul(order->argv[--number], NULL, 10);
	order->what = order->argv[--number];
	order->argv[number] = NULL;
}

int main(void)
{
	static struct order order;
	long output;
	int apart;

	record_to(keep_record);
	read_order(&order);
	apart = !strcmp(order.what, "exec");
	unpack();
	give_files();
#ifdef LOOPBACK
	begin_loopback();
#endif /* LOOPBACK */
	if (!strcmp(order.what, "find")) {
		tell_vdso();
		tell_life(create("launched"), 0, 0, find(order.argv), 0);
	} else {
		count(order.argv, order.times);
	}
	output = create("output");
	copy(output, OUTPUT, apart ? (size_t)MOST_WRITTEN : MOST_SHOWN);
	copy(apart ? create("errors") : output, ERRORS, apart ? (size_t)MOST_WRITTEN : MOST_SHOWN);
	record_begin("end");
	record_number("status", 0);
	record_number("idle", 0);
	record_end();
	return 0;
}
