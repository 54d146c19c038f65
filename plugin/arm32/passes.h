/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes: the stretches between two readings of the counter. */
#ifndef WORLDWISE_ARM32_PASSES_H
#define WORLDWISE_ARM32_PASSES_H

#include <stdbool.h>
#include <stdint.h>

/* `pairs`: a reading begins a pass and the next one ends it; else each reading ends one and begins the next. */
void passes_start(bool pairs);

/* The counter was read by the instruction behind which `pc` stands; everything before that is counted. */
void passes_reading(uint64_t pc);

/* Whether a pass is open. */
bool passes_are_open(void);
/* The id of the one that is open, 0 if none is. */
uint32_t passes_open(void);

/* How many passes have ended. */
uint32_t passes_count(void);

#endif /* WORLDWISE_ARM32_PASSES_H */
