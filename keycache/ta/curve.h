/* SPDX-License-Identifier: BSD-2-Clause */
/* What must be known of points and signatures of P-256 before OP-TEE gets them: an error of its own ends the TA. */
#ifndef KEYCACHE_CURVE_H
#define KEYCACHE_CURVE_H

#include "types.h"

bool curve_has(const uint8_t point[KEYCACHE_POINT_BYTES]);
/* Whether both of its numbers are from 1 to the group's order less 1. Nothing about whose it is. */
bool curve_may_sign(const uint8_t signature[KEYCACHE_SIGNATURE_BYTES]);

#endif /* KEYCACHE_CURVE_H */
