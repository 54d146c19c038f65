/* SPDX-License-Identifier: BSD-2-Clause */
/* The header by which the measured libraries ask for random bytes. Here they come from a generator: see cells.c. */
#ifndef WORLDWISE_VALIDATION_RANDOMBYTES_H
#define WORLDWISE_VALIDATION_RANDOMBYTES_H

void randombytes(void *bytes, long long length);

#endif /* WORLDWISE_VALIDATION_RANDOMBYTES_H */
