/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "operation.h"

#define CLASS_TEXT(name) #name,
static const char *const names[] = { CLASSES(CLASS_TEXT) };

const char *class_name(unsigned int class)
{
	return names[class];
}

unsigned int class_of_name(const char *name)
{
	unsigned int class = 0;

	while (class < CLASS_COUNT && strcmp(names[class], name) != 0)
		class++;
	return class;
}
