/* SPDX-License-Identifier: BSD-2-Clause */
/* More than the TA has that calls the core: a library's numbers are on this stack and in this heap. */
#ifndef WORLDWISE_APPS_ATTESTATION_SIZES_H
#define WORLDWISE_APPS_ATTESTATION_SIZES_H

#define TA_STACK_SIZE (32 * 1024)
#define TA_DATA_SIZE (64 * 1024)

#endif /* WORLDWISE_APPS_ATTESTATION_SIZES_H */
