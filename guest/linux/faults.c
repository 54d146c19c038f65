/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes wrong on purpose, in the way its argument names: lets the tests see what each failure looks like to a user. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void kernel_panic(void)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "c", 1) != 1)
		exit(3);
}

static void hang(void)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "kernel-panic"))
		kernel_panic();
	else if (!strcmp(argv[1], "hang"))
		hang();
	else if (!strcmp(argv[1], "crash"))
		abort();
	return 2;
}
