/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loaded into tee-supplicant: stops it where somebody wants to end it, and lets its disk fail.
 *
 * If STOP_AT_START is there, it stops before it does anything. If STOP_AT_REQUEST is there, which has a number in it, it
 * stops when it has received so many requests from then on, each before it is carried out; how many it has received since
 * the last such file goes to REQUESTS. As long as DISK_FAILS is there, writes to files end with EIO.
 */
#include "stop.h"

#include <errno.h>
#include <linux/tee.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../faults/supplicant/next.h"

__attribute__((constructor)) static void at_start(void)
{
	if (!access(STOP_AT_START, F_OK))
		(void)raise(SIGSTOP);
}

static void tell(unsigned int count)
{
	FILE *f = fopen(REQUESTS, "we");

	if (!f || fprintf(f, "%u", count) < 0 || fclose(f))
		abort();
}

/* The file is read when it appears, and gone then. */
static void received(void)
{
	static unsigned int left; /* 0 for no end */
	static unsigned int count;
	FILE *f = fopen(STOP_AT_REQUEST, "re");

	if (f) {
		if (fscanf(f, "%u", &left) != 1)
			left = 0;
		(void)fclose(f);
		tell(count);
		count = 0;
		(void)unlink(STOP_AT_REQUEST);
	}
	count++;
	if (left && !--left)
		/* This thread itself, or it would go on until another one has the signal. */
		(void)raise(SIGSTOP);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
	static ssize_t (*real)(int, const void *, size_t, off64_t);

	if (!real)
		next("pwrite64", &real);
	if (access(DISK_FAILS, F_OK))
		return real(fd, data, size, offset);
	errno = EIO;
	return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list rest;
	void *data;
	int result;

	if (!real)
		next("ioctl", &real);
	va_start(rest, request);
	data = va_arg(rest, void *);
	va_end(rest);
	result = real(fd, request, data);
	if (!result && request == TEE_IOC_SUPPL_RECV)
		received();
	return result;
}
