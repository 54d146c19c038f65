/* SPDX-License-Identifier: BSD-2-Clause */
/* Seeds for the libraries' generators. */
#ifndef WORLDWISE_OPTEE_LIBRARIES_ENTROPY_H
#define WORLDWISE_OPTEE_LIBRARIES_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

/* Asks the operating system's generator, and fills `out` with what the case draws: see inputs.h. Returns 0, or -1. */
int entropy_read(uint8_t *out, size_t length);

#endif /* WORLDWISE_OPTEE_LIBRARIES_ENTROPY_H */
