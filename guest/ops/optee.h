/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLDWISE_OPS_OPTEE_H
#define WORLDWISE_OPS_OPTEE_H

#include <tee_client_api.h>

#include "attest.h"

/* The attestation TA, called through libteec: whatever crypto library OP-TEE's core was built with does the work. */
extern struct attest_ops optee_ops;

/* Opens a session of the attestation TA. Fails as TEEC_OpenSession does. */
TEEC_Result optee_open_session(TEEC_Context *context, TEEC_Session *session);

#endif /* WORLDWISE_OPS_OPTEE_H */
