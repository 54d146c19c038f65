/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "functions.h"

#include <stddef.h>
#include <stdlib.h>

#include <glib.h>

struct range {
	uint64_t start;
	uint64_t end; /* the address behind it */
};

static struct range *functions; /* in order; NULL if none were read */
static size_t functions_count;

bool functions_read(const char *path)
{
	gchar *content;
	gsize length;

	if (!g_file_get_contents(path, &content, &length, NULL))
		return false;
	/* GLib's memory is aligned for every type. */
	functions = (struct range *)(void *)content;
	functions_count = length / sizeof(*functions);
	return length % sizeof(*functions) == 0;
}

static int compare_with_range(const void *key, const void *member)
{
	uint64_t address = *(const uint64_t *)key;
	const struct range *range = member;

	return address < range->start ? -1 : address >= range->end;
}

uint64_t functions_site(uint64_t address)
{
	const struct range *range = NULL;

	if (functions)
		range = bsearch(&address, functions, functions_count, sizeof(*range), compare_with_range);
	return range ? range->start : address;
}
