/* SPDX-License-Identifier: BSD-2-Clause */
/* What the first process settles before the measured program begins: what it draws, and that no timer interrupts it. */
#ifndef WORLDWISE_LINUX_SETTLE_H
#define WORLDWISE_LINUX_SETTLE_H

#include <stdint.h>

#define SEED_BYTES 32

/* Reads 2 * SEED_BYTES hexadecimal digits. Returns 0, or -1 if there are others. */
int settle_read(const char *text, uint8_t seed[SEED_BYTES]);

/* Starts the generator of OP-TEE's core with a seed. Returns 0, or -1. A machine without OP-TEE has nothing to start. */
int settle_seed(const uint8_t seed[SEED_BYTES]);

/* Masks the interrupts of every timer that Linux has, until the machine ends. Returns 0, or -1. */
int settle_quiet(void);

#endif /* WORLDWISE_LINUX_SETTLE_H */
