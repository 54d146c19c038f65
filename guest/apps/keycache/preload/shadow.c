/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loaded into keycached: as long as JOURNAL_SWITCH is there, the host gets too what the server adds to the log of sealed
 * records. A write reaches the host when it is done, by one semihosting call: one instruction of the guest. So the host
 * has what the disk would have if the machine stopped there and lost nothing that was written. The campaign also tries
 * a lost log; nobody relies on what is between the two.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../bench/semihost.h"
#include "../../faults/journal.h"
#include "../../faults/supplicant/next.h"

#define LOG "records.log"
#define HOST_FILE "shadow"

static int followed = -1;
static long host = -1;

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "shadow: %s\n", what);
	abort();
}

static void tell(const void *data, size_t size)
{
	if (access(JOURNAL_SWITCH, F_OK))
		return;
	if (host < 0)
		host = semihost_open(HOST_FILE, "w");
	if (host < 0 || semihost_write(host, data, size))
		give_up("the host does not take the log");
}

int openat(int directory, const char *path, int flags, ...)
{
	static int (*real)(int, const char *, int, ...);
	va_list rest;
	mode_t mode;
	int fd;

	if (!real)
		next("openat", &real);
	va_start(rest, flags);
	mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	fd = real(directory, path, flags, mode);
	if (fd >= 0 && !strcmp(path, LOG))
		followed = fd;
	return fd;
}

ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	ssize_t written;

	if (!real)
		next("write", &real);
	written = real(fd, data, size);
	if (fd == followed && written > 0)
		tell(data, (size_t)written);
	return written;
}

/* What is done to a log that is new, and by a server that starts: never while the host is told. */

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	static ssize_t (*real)(int, const void *, size_t, off_t);

	if (!real)
		next("pwrite", &real);
	if (fd == followed && host >= 0)
		give_up("the log is written to elsewhere than at its end");
	return real(fd, data, size, offset);
}

int ftruncate(int fd, off_t length)
{
	static int (*real)(int, off_t);

	if (!real)
		next("ftruncate", &real);
	if (fd == followed && host >= 0)
		give_up("the log is cut short");
	return real(fd, length);
}

int renameat(int from, const char *path, int to, const char *wanted)
{
	(void)from;
	(void)to;
	(void)wanted;
	give_up(path);
}
