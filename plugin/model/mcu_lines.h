/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A microcontroller's table: lines `number NAME VALUE`, `class NAME KEY VALUE ..`, `memory NAME VALUE`. */
#ifndef WORLDWISE_MODEL_MCU_LINES_H
#define WORLDWISE_MODEL_MCU_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "flash.h"

/* What takes the words of a line into a core; each is false for what it does not know. */
struct line_reader {
	bool (*number)(void *core, const char *name, const char *value);
	/* The pairs of a key and a value are next: see line_pair(). */
	bool (*class)(void *core, const char *name);
};

/* One line of a table. False if it is none. */
bool line_read(const char *line, void *core, struct flash *flash, const struct line_reader *reader);
/* The next key and value of a line of a class, NULL where none is. False behind the last key. */
bool line_pair(const char **key, const char **value);
/* A number of a table. False if the text is none. */
bool line_value(const char *text, uint32_t *value);
/* Says what is wrong with a table, and is false. */
bool line_refuse(const char *what);

#endif /* WORLDWISE_MODEL_MCU_LINES_H */
