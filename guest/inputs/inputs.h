/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs of Linux draw: bytes of HMAC_DRBG, whose seed the case gives in the environment. The same case has the
 * same keys, nonces and blinding in every build, in the same order: docs/how/repeat.md.
 */
#ifndef WORLDWISE_INPUTS_INPUTS_H
#define WORLDWISE_INPUTS_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* The next `length` bytes. The first of them are made before main() begins, so that no region pays for more than a copy. */
void inputs_read(uint8_t *out, size_t length);

#endif /* WORLDWISE_INPUTS_INPUTS_H */
