/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the host the symbols of the kernel of plain Linux, in its file `kallsyms`. The other files that the host expects of
 * such a program (guest/linux/symbols.c) are empty: this kernel has loaded no modules, and the measured program is static.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../linux/symbols.h"

#define SYMBOLS "/proc/kallsyms"

int main(void)
{
	static const char *const empty[] = { "modules", "sections", "processes", "vdso" };
	static char buffer[CHUNK];
	ssize_t length;
	long handle;
	int fd;

	record_to(semihost_record);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		(void)create(empty[i]);
	handle = create("kallsyms");
	fd = open(SYMBOLS, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		give_up(SYMBOLS);
	while ((length = read(fd, buffer, sizeof(buffer))) > 0)
		if (semihost_write(handle, buffer, (size_t)length))
			give_up("write to the host");
	if (length < 0)
		give_up(SYMBOLS);
	close(fd);
	return 0;
}
