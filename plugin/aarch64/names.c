/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"

#include <stddef.h>

#include <glib.h>

#include "processor.h"
#include "tables.h"

static GHashTable *names; /* task_struct -> its name */

void names_start(void)
{
	names = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

void names_given(void)
{
	uint64_t task = processor_x(0);
	char *name = g_new0(char, NAME_BYTES);

	processor_text(processor_x(1), name, NAME_BYTES - 1);
	for (size_t i = 0; name[i]; i++)
		if (name[i] < ' ' || name[i] > '~')
			name[i] = '?';
	g_hash_table_insert(names, as_pointer(task), name);
}

void names_forget(uint64_t task)
{
	g_hash_table_remove(names, as_pointer(task));
}

const char *names_of(uint64_t task)
{
	const char *name = g_hash_table_lookup(names, as_pointer(task));

	return name ? name : "";
}
