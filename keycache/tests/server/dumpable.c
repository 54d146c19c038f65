/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded, it leaves a server's memory readable for a test that looks for keys in it; and the file DIR.nomemory, DIR being
 * KEYCACHE_NATIVE_DIR, lets one allocation of a connection's size fail, DIR.nofsync one fsync() of a folder, DIR.nosync one fdatasync(). The wall's clock is
 * so many seconds ahead as DIR.clock says.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Between the smaller and the larger things that the server asks zeros for. */
#define LEAST_BYTES 400
#define MOST_BYTES 4000

void *__libc_calloc(size_t count, size_t size);
int prctl(int option, ...);

static int asked_to_fail(const char *what)
{
	const char *directory = getenv("KEYCACHE_NATIVE_DIR");
	char path[4096];

	if (!directory || snprintf(path, sizeof(path), "%s.%s", directory, what) >= (int)sizeof(path))
		return 0;
	return !unlink(path);
}

void *calloc(size_t count, size_t size)
{
	if (count == 1 && size > LEAST_BYTES && size < MOST_BYTES && asked_to_fail("nomemory"))
		return NULL;
	return __libc_calloc(count, size);
}

int fsync(int file)
{
	struct stat status;

	if (!fstat(file, &status) && S_ISDIR(status.st_mode) && asked_to_fail("nofsync")) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
	if (asked_to_fail("nosync")) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *directory = getenv("KEYCACHE_NATIVE_DIR");
	int res = (int)syscall(SYS_clock_gettime, clock, now);
	long ahead = 0;
	char path[4096];
	FILE *file;

	if (clock != CLOCK_REALTIME || !directory ||
	    snprintf(path, sizeof(path), "%s.clock", directory) >= (int)sizeof(path))
		return res;
	file = fopen(path, "r");
	if (file && fscanf(file, "%ld", &ahead) == 1)
		now->tv_sec += ahead;
	if (file)
		(void)fclose(file);
	return res;
}

int prctl(int option, ...)
{
	(void)option;
	return 0;
}
