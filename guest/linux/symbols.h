/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs share that tell the host symbols: files of the host, and how a program ends that cannot go on. */
#ifndef WORLDWISE_LINUX_SYMBOLS_H
#define WORLDWISE_LINUX_SYMBOLS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/record.h"
#include "../bench/semihost.h"

/* A call to the host copies all of it at once; more would make fewer calls, and each costs little already. */
#define CHUNK (64 * 1024)

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

#endif /* WORLDWISE_LINUX_SYMBOLS_H */
