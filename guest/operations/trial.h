/* SPDX-License-Identifier: BSD-2-Clause */
/* A portable implementation that is not OP-TEE's, on P-256, in the TA or in Linux: what both need before they measure it. */
#ifndef WORLDWISE_OPERATIONS_TRIAL_H
#define WORLDWISE_OPERATIONS_TRIAL_H

#include "../adapters/ops.h"

/*
 * Opens the library and tries it on known answers and wrong input. Returns NULL, or what is wrong with it: then it must
 * not be measured.
 */
const char *trial_open(void);

#endif /* WORLDWISE_OPERATIONS_TRIAL_H */
