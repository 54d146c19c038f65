/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's cases that have a file of their own. Each opens and closes the session that it needs, app_session. */
#ifndef WORLDWISE_APPS_ATTESTATION_TEE_H
#define WORLDWISE_APPS_ATTESTATION_TEE_H

#include "../../optee-libraries/attest.h"
#include "../common/app.h"

/* The TA, called through libteec: OP-TEE's core does the work there, or the library that is compiled into the TA. */
extern struct attest_ops tee_ops;

/* A new persistent object of ATTEST_OBJECT_BYTES. */
void storage_case(const struct bench_plan *plan);

#endif /* WORLDWISE_APPS_ATTESTATION_TEE_H */
