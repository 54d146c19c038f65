/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a program of Linux that another one starts: from where that one reads its counter until it reads it again
 * (guest/own/launch.c). Around the calls of the program, which are passes, the life is one.
 */
#ifndef WORLDWISE_ARM32_LIFE_H
#define WORLDWISE_ARM32_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks.h"

enum life {
	LIFE_GOES_ON,
	LIFE_BEGINS,
	LIFE_ENDS,
};

/* The readings are the instructions at `begins` and `ends`, into r2 and r3; the program's first one is at `entry`. */
void life_start(uint64_t begins, uint64_t ends, uint64_t entry);

/* A block is about to be executed: takes what the instruction before it has read. Whether a life is open or begins. */
bool life_before(const struct flat_block *to);

/* The same block, once everything before it is counted. */
enum life life_at(const struct flat_block *to, bool in_kernel);

/* Whether the thread runs that is in the innermost region, and no handler of a signal. */
bool life_is_regions(void);

/* The program that runs has made a system call. */
void life_called(void);

/* The machine ended: gives up if a life is open. */
void life_finish(void);

#endif /* WORLDWISE_ARM32_LIFE_H */
