/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels.h"

#include <stddef.h>
#include <stdlib.h>

#include <glib.h>

#include "tables.h"

static GHashTable *labels[2]; /* address -> struct label; of the program, and of the TA */

bool labels_add(const char *value, bool ends, bool of_ta)
{
	char *rest;
	unsigned long call = strtoul(value, &rest, 0);
	struct label *label;
	uint64_t address;

	if (!call || call > UINT32_MAX || *rest != ':' || !rest[1])
		return false;
	address = strtoull(rest + 1, &rest, 0);
	if (*rest)
		return false;
	if (!labels[of_ta])
		labels[of_ta] = g_hash_table_new(g_direct_hash, g_direct_equal);
	label = g_new(struct label, 1);
	*label = (struct label){ .call = (unsigned int)call, .ends = ends };
	g_hash_table_insert(labels[of_ta], as_pointer(address), label);
	return true;
}

bool labels_are_there(void)
{
	return labels[false] || labels[true];
}

bool labels_are_in_ta(void)
{
	return labels[true];
}

const struct label *labels_at(uint64_t address, bool of_ta)
{
	return labels[of_ta] ? g_hash_table_lookup(labels[of_ta], as_pointer(address)) : NULL;
}
