/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What instructions are counted as, beside their number. */
#ifndef WORLDWISE_KINDS_H
#define WORLDWISE_KINDS_H

#include <stdint.h>

/* l: loads; s: stores; m: multiplies; d: divides; a dot: none of these. Products and quotients are of integers. */
#define KIND_LOAD 'l'
#define KIND_STORE 's'
#define KIND_MULTIPLY 'm'
#define KIND_DIVIDE 'd'
#define KIND_OTHER '.'

struct operation; /* see ../model/operation.h */

char kind_of(const struct operation *operation);

/* The kind of an A64 instruction. */
char kind_of_a64(uint32_t word);

#endif /* WORLDWISE_KINDS_H */
