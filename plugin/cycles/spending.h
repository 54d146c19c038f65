/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of cycles, and how they are written. */
#ifndef WORLDWISE_CYCLES_SPENDING_H
#define WORLDWISE_CYCLES_SPENDING_H

#include <stddef.h>
#include <stdio.h>

#include "../model/model.h"

void spending_add(struct spent *sum, const struct spent *more);

/* Writes `,"cores":{NAME:{"cycles":..,"causes":[..],"outside":..,"outside_instructions":..},..}`. */
void spending_write(FILE *out, struct model *const *models, const struct spent *spent, size_t cores);

#endif /* WORLDWISE_CYCLES_SPENDING_H */
