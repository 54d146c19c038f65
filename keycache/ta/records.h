/* SPDX-License-Identifier: BSD-2-Clause */
/* The sealed records that the normal world keeps. */
#ifndef KEYCACHE_RECORDS_H
#define KEYCACHE_RECORDS_H

#include "types.h"

#define SEAL_KEY_BYTES 32

/* What the operations need is allocated once; records_use gives them the key of the storage that is in use. */
TEE_Result records_open(void);
void records_close(void);
TEE_Result records_use(const uint8_t seal_key[SEAL_KEY_BYTES]);

/*
 * Whether a record that was just sealed is the last one of its seal key: one of 2^27 is, as chance has it. That a key seals
 * more than the 2^32 that random nonces are good for has a chance of e^-32, and nobody has to count.
 */
bool record_is_last(const struct keycache_record *record);
TEE_Result record_seal(const struct id *id, uint32_t version, const struct key *key, struct keycache_record *record);
/* KEYCACHE_STALE or KEYCACHE_FORGED if it is not the record of this client's key of this version. */
TEE_Result record_open(const struct keycache_record *record, const struct id *id, uint32_t version, struct key *key);

#endif /* KEYCACHE_RECORDS_H */
