/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program without an operating system says to the emulator. */
#ifndef WORLDWISE_PQM4_START_H
#define WORLDWISE_PQM4_START_H

#include <stddef.h>

/* Writes a text to the emulator's console. */
void start_write(const char *text);

/* The most bytes that malloc() had taken from the machine at a time. */
size_t start_most_heap(void);

/* Ends the machine. */
_Noreturn void start_end(void);

#endif /* WORLDWISE_PQM4_START_H */
