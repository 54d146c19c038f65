/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 in Linux: by the library that OP-TEE has, and by the command that people compare with. */
#ifndef WORLDWISE_APPS_SHA256_LINUX_HASH_H
#define WORLDWISE_APPS_SHA256_LINUX_HASH_H

#include "../../../bench/bench.h"
#include "../../../optee-libraries/attest.h"

/* Parameters size and chunk; with fault=fresh each message is memory that was never touched, so of zeros. */
void sha256_case(const struct bench_plan *plan, struct attest_ops *ops);

/* /bin/sha256sum on a file of `size` bytes in memory, from its fork to its end. */
void sha256sum_case(const struct bench_plan *plan);

#endif /* WORLDWISE_APPS_SHA256_LINUX_HASH_H */
