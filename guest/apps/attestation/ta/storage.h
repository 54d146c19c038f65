/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of a persistent object. There is one for the whole TA: the benchmark has one session at a time. */
#ifndef WORLDWISE_APPS_ATTESTATION_TA_STORAGE_H
#define WORLDWISE_APPS_ATTESTATION_TA_STORAGE_H

#include <tee_internal_api.h>

TEE_Result storage_create(void *session, TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result storage_read(void *session, TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result storage_delete(void *session, TEE_Param params[TEE_NUM_PARAMS]);

/* Deletes the object of a client that gave up. */
void storage_close(void);

#endif /* WORLDWISE_APPS_ATTESTATION_TA_STORAGE_H */
