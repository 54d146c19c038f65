/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the host what is where on the measured machine, so that it can name addresses: symbols [PROGRAM...]
 *
 * Files of the host: `kallsyms` (the kernel's symbols), `modules` (/proc/modules), `sections` (where the sections of
 * modules are), `processes` (what is mapped in each process, and in each PROGRAM when its main program begins), `vdso`
 * (the kernel's code in user space).
 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../bench/record.h"
#include "../bench/semihost.h"

/* A call to the host copies all of it at once; more would make fewer calls, and each costs little already. */
#define CHUNK (64 * 1024)

#if defined(__aarch64__)
#define BREAKPOINT 0xd4200000u /* brk #0 */
#else
#error "no breakpoint instruction for this architecture: add it here"
#endif /* __aarch64__ */

static _Noreturn void give_up(const char *what)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "symbols: %.150s: %s", what, strerror(errno));
	record_begin("error");
	record_text("message", text);
	record_end();
	exit(1);
}

static long create(const char *name)
{
	long handle = semihost_open(name, "w");

	if (handle < 0)
		give_up(name);
	return handle;
}

static void put(long handle, const void *bytes, size_t size)
{
	errno = EIO;
	if (size && semihost_write(handle, bytes, size))
		give_up("write to the host");
}

__attribute__((format(printf, 2, 3))) static void put_line(long handle, const char *format, ...)
{
	char text[300];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	errno = ENAMETOOLONG;
	if (length < 0 || (size_t)length >= sizeof(text))
		give_up(format);
	put(handle, text, (size_t)length);
}

/* Appends a file of the guest. The kernel hands out few of these files in one read. Returns its bytes, or -1. */
static long copy(long handle, const char *path)
{
	static char buffer[CHUNK];
	size_t used = 0;
	long total = 0;
	ssize_t length;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	while ((length = read(fd, buffer + used, sizeof(buffer) - used)) > 0) {
		used += (size_t)length;
		total += length;
		if (used == sizeof(buffer)) {
			put(handle, buffer, used);
			used = 0;
		}
	}
	close(fd);
	put(handle, buffer, used);
	return length < 0 ? -1 : total;
}

static void copy_whole(const char *name, const char *path)
{
	if (copy(create(name), path) <= 0)
		give_up(path);
}

/* A file's first line, without its end. Returns 0, or -1 if it cannot be read. */
static int first_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	char *got;

	if (!f)
		return -1;
	got = fgets(line, size, f);
	(void)fclose(f);
	if (!got)
		return -1;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* "MODULE SECTION ADDRESS" for every section of every loaded module. */
static void module_sections(void)
{
	long handle = create("sections");
	DIR *modules = opendir("/sys/module");
	struct dirent *module;

	if (!modules)
		give_up("/sys/module");
	while ((module = readdir(modules))) {
		char path[600];
		char address[40];
		struct dirent *section;
		DIR *sections;

		(void)snprintf(path, sizeof(path), "/sys/module/%s/sections", module->d_name);
		sections = opendir(path);
		if (!sections)
			continue; /* built in, or not a module */
		while ((section = readdir(sections))) {
			(void)snprintf(path, sizeof(path), "/sys/module/%s/sections/%s", module->d_name,
				       section->d_name);
			if (section->d_type == DT_REG && !first_line(path, address, sizeof(address)))
				put_line(handle, "%.60s %.60s %s\n", module->d_name, section->d_name, address);
		}
		closedir(sections);
	}
	closedir(modules);
}

/* "KIND PID COMM", then the lines of /proc/PID/maps. */
static void process(long handle, const char *kind, const char *pid)
{
	char path[300];
	char comm[40];

	(void)snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	if (first_line(path, comm, sizeof(comm)))
		give_up(path);
	put_line(handle, "%s %.20s %s\n", kind, pid, comm);
	(void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	if (copy(handle, path) < 0)
		give_up(path);
}

static void all_processes(long handle)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	if (!processes)
		give_up("/proc");
	while ((entry = readdir(processes)))
		if (isdigit((unsigned char)entry->d_name[0]))
			process(handle, "process", entry->d_name);
	closedir(processes);
}

/* Where a process's main program begins: the loader has mapped everything by then. */
static unsigned long entry_of(const char *program, pid_t pid)
{
	char path[40];
	Elf64_auxv_t word;
	unsigned long entry = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	if (!f)
		give_up(path);
	while (!entry && fread(&word, sizeof(word), 1, f) == 1)
		if (word.a_type == AT_ENTRY)
			entry = (unsigned long)word.a_un.a_val;
	(void)fclose(f);
	errno = ENOEXEC;
	if (!entry)
		give_up(program);
	return entry;
}

static void wait_for_stop(const char *program, pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		give_up(program);
	if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP)
		return;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
	give_up(program);
}

/* Starts a program as the first process does for a case, stops it at its entry point, and ends it there. */
static void start_program(long handle, const char *program)
{
	char *arguments[] = { (char *)program, NULL };
	char pid[20];
	unsigned long entry;
	long word;
	pid_t child = fork();

	if (child < 0)
		give_up("fork");
	if (child == 0) {
		/* The parent alone writes records: of two writers at one file the second would overwrite the first. */
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execv(program, arguments);
		_exit(errno);
	}
	wait_for_stop(program, child);
	entry = entry_of(program, child);
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, child, (void *)entry, NULL);
	if (errno)
		give_up(program);
	word = (long)(((unsigned long)word & ~0xfffffffful) | BREAKPOINT);
	if (ptrace(PTRACE_POKETEXT, child, (void *)entry, (void *)word) || ptrace(PTRACE_CONT, child, NULL, NULL))
		give_up(program);
	wait_for_stop(program, child);
	(void)snprintf(pid, sizeof(pid), "%d", (int)child);
	process(handle, "program", pid);
	if (kill(child, SIGKILL) || waitpid(child, NULL, 0) != child)
		give_up(program);
}

static void vdso(void)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	errno = ENOEXEC;
	if (!header)
		give_up("vdso");
	/* Its section headers are the last in it. */
	put(create("vdso"), header, header->e_shoff + (size_t)header->e_shnum * header->e_shentsize);
}

int main(int argc, char **argv)
{
	long processes;

	record_to(semihost_record);
	copy_whole("kallsyms", "/proc/kallsyms");
	copy_whole("modules", "/proc/modules");
	module_sections();
	vdso();
	processes = create("processes");
	all_processes(processes);
	for (int i = 1; i < argc; i++)
		start_program(processes, argv[i]);
	return 0;
}
