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

#include "../bench/record.h"
#include "../bench/semihost.h"

#define CHUNK (64 * 1024)
#define SYMBOLS "/proc/kallsyms"

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
