/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's cases that have a file of their own. Each opens and closes what it needs. */
#ifndef WORLDWISE_OPTEE_CASES_H
#define WORLDWISE_OPTEE_CASES_H

#include <tee_client_api.h>

#include "../bench/bench.h"

/* Where a client measures. */
#define CLIENT_PLACE "client"

/* Ends the program unless the call went well. */
void must(TEEC_Result res, const char *what, uint32_t index);

/* SHA-256 of a message in one call, or in one call per piece of it, and what the calls alone cost. */
void sha256_case(const struct bench_plan *plan, TEEC_Context *context);

/* A new persistent object of 4 KiB. */
void storage_case(const struct bench_plan *plan, TEEC_Context *context);

#endif /* WORLDWISE_OPTEE_CASES_H */
