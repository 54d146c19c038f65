/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mcu_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE " \t\r\n"
#define MOST 100000

bool line_value(const char *text, uint32_t *value)
{
	char *rest;
	unsigned long number;

	if (!text || *text < '0' || *text > '9')
		return false;
	number = strtoul(text, &rest, 10);
	*value = (uint32_t)number;
	return !*rest && number <= MOST;
}

bool line_pair(const char **key, const char **value)
{
	*key = strtok(NULL, SPACE);
	*value = *key ? strtok(NULL, SPACE) : NULL;
	return *key;
}

bool line_read(const char *line, void *core, struct flash *flash, const struct line_reader *reader)
{
	char copy[256];
	char *word;
	char *name;

	if (strlen(line) >= sizeof(copy))
		return false;
	strcpy(copy, line);
	word = strtok(copy, SPACE);
	name = word ? strtok(NULL, SPACE) : NULL;
	if (!name)
		return false;
	if (!strcmp(word, "number"))
		return reader->number(core, name, strtok(NULL, SPACE));
	if (!strcmp(word, "memory")) {
		uint32_t value;

		return line_value(strtok(NULL, SPACE), &value) && flash_set(flash, name, value);
	}
	return !strcmp(word, "class") && reader->class(core, name);
}

bool line_refuse(const char *what)
{
	fprintf(stderr, "model: the table of a microcontroller %s\n", what);
	return false;
}
