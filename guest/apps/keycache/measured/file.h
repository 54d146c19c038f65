/* SPDX-License-Identifier: BSD-2-Clause */
/* The file by which a process in Linux tells what it measures, made by that process. */
#ifndef WORLDWISE_APPS_KEYCACHE_MEASURED_FILE_H
#define WORLDWISE_APPS_KEYCACHE_MEASURED_FILE_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measured.h"

static _Noreturn void measured_give_up(const char *what)
{
	perror(what);
	_exit(1);
}

static inline struct measured *measured_create(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct measured *measured;

	if (fd < 0 || ftruncate(fd, sizeof(*measured)))
		measured_give_up(path);
	measured = mmap(NULL, sizeof(*measured), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (measured == MAP_FAILED)
		measured_give_up(path);
	close(fd);
	*measured = (struct measured){ 0 };
	return measured;
}

#endif /* WORLDWISE_APPS_KEYCACHE_MEASURED_FILE_H */
