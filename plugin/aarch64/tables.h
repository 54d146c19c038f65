/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of GLib's hash tables. */
#ifndef WORLDWISE_TABLES_H
#define WORLDWISE_TABLES_H

#include <stdint.h>

#include <glib.h>

/* A hash of two numbers. Callers hash more by using a hash as one of them. */
static inline guint hash_pair(uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;

	return (guint)(hash ^ (hash >> 32));
}

/* A number as a key or value of a table that compares pointers. */
static inline gpointer as_pointer(uint64_t value)
{
	return (gpointer)(uintptr_t)value;
}

#endif /* WORLDWISE_TABLES_H */
