/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a test asks of the TEE that the shim stands for, by files beside the folder of its storage, which
 * KEYCACHE_NATIVE_DIR names: DIR.die makes the TA panic once, DIR.forget makes it lose its configuration once, DIR.behind sets a key
 * of alice behind the server's back, DIR.hang keeps a call for ever, and DIR.slow for half a second. While DIR.nodelete is
 * there no key can be deleted.
 */
#ifndef ASKED_H
#define ASKED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Half a second, and a bit. */
#define SLOW_US 510000

static bool path_of(const char *what, char path[4096])
{
	const char *directory = getenv("KEYCACHE_NATIVE_DIR");

	return directory && snprintf(path, 4096, "%s.%s", directory, what) < 4096;
}

static bool asked_to(const char *what)
{
	char path[4096];

	return path_of(what, path) && !unlink(path);
}

static bool is_there(const char *what)
{
	char path[4096];

	return path_of(what, path) && !access(path, F_OK);
}

#endif /* ASKED_H */
