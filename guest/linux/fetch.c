/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Becomes the measured program, which the host brings when a case begins: its file is no part of the machine that was booted,
 * so that one saved state serves every program. The arguments are the program's.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../bench/record.h"
#include "../bench/semihost.h"

/* Where the emulator sees it. */
#define HOST_FILE "/machine/program"
#define PIECE 65536

static int fail(const char *what)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "fetch: %s: %s", what, strerror(errno));
	record_begin("error");
	record_text("message", text);
	record_end();
	return 1;
}

int main(int argc, char **argv)
{
	static uint8_t piece[PIECE];
	static char *environment[] = { NULL, NULL };
	static char kept[64];
	const char *draw = getenv("WORLDWISE_DRAW");
	long handle;
	long length;
	int file;

	(void)argc;
	record_to(semihost_record);
	if (draw && (size_t)snprintf(kept, sizeof(kept), "WORLDWISE_DRAW=%s", draw) < sizeof(kept))
		environment[0] = kept;
	handle = semihost_open(HOST_FILE, "r");
	if (handle < 0)
		return fail(HOST_FILE);
	file = memfd_create("program", MFD_CLOEXEC);
	if (file < 0)
		return fail("memfd_create");
	while ((length = semihost_read(handle, piece, sizeof(piece))) > 0)
		if (write(file, piece, (size_t)length) != (ssize_t)length)
			return fail("write");
	if (length < 0)
		return fail(HOST_FILE);
	fexecve(file, argv, environment);
	return fail("fexecve");
}
