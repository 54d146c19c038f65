/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TA's commands beside the attestation: hashing, storage, and the cycle counter to measure by. What they keep is one
 * for the whole TA: the benchmark has one session at a time.
 */
#ifndef WORLDWISE_OPTEE_TA_MORE_H
#define WORLDWISE_OPTEE_TA_MORE_H

#include <tee_internal_api.h>

/* All that attest_ta.c has no row for. */
TEE_Result more_commands(uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS]);

TEE_Result counter_enable(TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result counter_restore(TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result counter_read(TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result counter_calibrate(TEE_Param params[TEE_NUM_PARAMS]);

/*
 * Each measures itself, from its first instruction to its last but for the look whether it may: like counter_calibrate()
 * they are TEE_ERROR_BAD_STATE when counter_enable() has not let the TA read the cycle counter.
 */
TEE_Result digest_update(uint32_t types, TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result digest_final(uint32_t types, TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result digest_spans(TEE_Param params[TEE_NUM_PARAMS]);
void digest_close(void);

TEE_Result storage_create(TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result storage_read(TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result storage_delete(TEE_Param params[TEE_NUM_PARAMS]);
void storage_close(void);

#endif /* WORLDWISE_OPTEE_TA_MORE_H */
