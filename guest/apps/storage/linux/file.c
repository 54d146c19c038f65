/* SPDX-License-Identifier: BSD-2-Clause */
/* The same accesses to plain files of a Linux process, by its own system calls. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../bench/bench.h"
#include "../../../linux/idle.h"
#include "../../../linux/load.h"
#include "../access.h"
#include "../storage.h"

#define DIRECTORY "/tmp/objects"
#define PLACE "linux"

static struct bench_overhead overhead;
static bool sync_wanted;
static const char *action_name;

static _Noreturn void fail(const char *what)
{
	bench_fail("%s: %s failed: %s", action_name, what, strerror(errno));
}

static void name(char path[64], uint32_t object)
{
	(void)snprintf(path, 64, DIRECTORY "/object-%u", (unsigned int)object);
}

/* What lasts when a file itself was synchronised: its name, too. */
static void sync_directory(void)
{
	int fd;

	if (!sync_wanted)
		return;
	fd = open(DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) || close(fd))
		fail("fsync of the directory");
}

static void put(const char *path, int flags, const struct access *access)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

	if (fd < 0 || write(fd, access->data, access->size) != (ssize_t)access->size)
		fail("write");
	if (sync_wanted && fsync(fd))
		fail("fsync");
	if (close(fd))
		fail("close");
}

static void get(const char *path, struct access *access)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) || (size_t)status.st_size > access->size ||
	    read(fd, access->data, (size_t)status.st_size) != (ssize_t)status.st_size || close(fd))
		fail("read");
	access->size = (size_t)status.st_size;
}

/* Opens each file that there is, as enumerating objects does, and asks for its size. */
static void enumerate(struct access *access)
{
	DIR *directory = opendir(DIRECTORY);
	struct dirent *entry;

	if (!directory)
		fail("opendir");
	access->count = 0;
	access->size = 0;
	while ((entry = readdir(directory))) {
		struct stat status;
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &status) || close(fd))
			fail("look at file");
		access->count++;
		access->size += (size_t)status.st_size;
	}
	if (closedir(directory))
		fail("closedir");
}

static void run(const struct bench_plan *plan, struct access *access, uint32_t index)
{
	struct bench_span span;
	char path[64];
	char new_path[64];

	name(path, access->object);
	name(new_path, access->renamed);
	span.begin = bench_region_begin();
	switch (access->action) {
	case ACCESS_CREATE:
		put(path, O_CREAT | O_EXCL, access);
		sync_directory();
		break;
	case ACCESS_READ:
		get(path, access);
		break;
	case ACCESS_OVERWRITE:
		put(path, 0, access);
		break;
	case ACCESS_APPEND:
		put(path, O_APPEND, access);
		break;
	case ACCESS_RENAME:
		if (rename(path, new_path))
			fail("rename");
		sync_directory();
		break;
	case ACCESS_TRUNCATE:
		if (truncate(path, (off_t)access->size))
			fail("truncate");
		break;
	case ACCESS_ENUMERATE:
		enumerate(access);
		break;
	default:
		if (unlink(path))
			fail("unlink");
		sync_directory();
	}
	span.end = bench_region_end();
	if (index != ACCESS_UNMEASURED)
		bench_record_sample(plan, ACCESS_MEASURE, PLACE, index, span, overhead.count, 0);
}

static bool there(uint32_t object)
{
	char path[64];

	name(path, object);
	return !access(path, F_OK);
}

int main(int argc, char **argv)
{
	static const struct access_storage plain = { .run = run, .there = there };
	struct bench_plan plan = bench_start("linux-file", IMPLEMENTATION, argc, argv);
	const char *sync = bench_parameter(&plan, "sync");
	uint64_t idle = idle_entries();

	load_start(&plan);
	sync_wanted = sync && !strcmp(sync, "fsync");
	action_name = bench_parameter(&plan, "action");
	if (mkdir(DIRECTORY, 0700))
		fail("mkdir");
	overhead = bench_calibrate_place(PLACE);
	access_case(&plan, &plain);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
