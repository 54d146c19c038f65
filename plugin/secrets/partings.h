/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The partings of one call from the reference, put together by instruction, and how they are written. */
#ifndef WORLDWISE_SECRETS_PARTINGS_H
#define WORLDWISE_SECRETS_PARTINGS_H

#include <stdint.h>
#include <stdio.h>

#include "compare.h"

/* Takes one parting: an `on_parting` without context. */
void partings_add(void *context, const struct parting *parting);
/* One line of JSON for each kind and instruction, in the order of their first partings. Forgets them. */
void partings_write(FILE *out, uint64_t pass);

#endif /* WORLDWISE_SECRETS_PARTINGS_H */
