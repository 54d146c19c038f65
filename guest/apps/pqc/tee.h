/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of guest/pqc-adapters/pqc.h, each a call of the TA. */
#ifndef WORLDWISE_APPS_PQC_TEE_H
#define WORLDWISE_APPS_PQC_TEE_H

#include <stdbool.h>

#include "../common/app.h"
#include "pqc.h"

/*
 * Gives the TA the inputs that are in pqc_io. From then on a function of pqc.h is one call of the TA and nothing else; its
 * arguments must be those of pqc_io, and the private key that keygen makes stays in the TA.
 */
void tee_give(void);

/* Takes that back: a function of pqc.h gives its inputs itself. With `made_key` pqc_io gets the private key. */
void tee_take(bool made_key);

/* The region of the last call in the TA. */
extern struct bench_span tee_span;

/* Records what a call of an operation takes of the TA's memory, with a message of `size` bytes. */
void tee_record_memory(const char *operation, size_t size);

#endif /* WORLDWISE_APPS_PQC_TEE_H */
