/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exceptions and ERET: how the flow changes exception level and world, and what that does to the shadow stack. */
#ifndef WORLDWISE_WORLDS_H
#define WORLDWISE_WORLDS_H

#include <stdint.h>

#include "blocks.h"

/* An exception was taken to the current level, whose vector is `to`. */
void worlds_exception(const struct block *to);

/* An ERET at `site` went to `to`, at exception level `el`. */
void worlds_eret(uint64_t site, uint64_t to, unsigned int el);

#endif /* WORLDWISE_WORLDS_H */
