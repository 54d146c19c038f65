/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record is a key, sealed with AES-256-GCM by a key that is made in the TA and kept in secure storage. Everything
 * before the nonce is authenticated. The nonce is random: a seal key is good for 2^32 records, as NIST SP 800-38D
 * (8.3) has it for random nonces, and is replaced long before (record_is_last).
 */
#include "records.h"

#include <stddef.h>

#include "gcm.h"

static struct gcm sealing;
static struct gcm opening;

TEE_Result records_open(void)
{
	TEE_Result res = gcm_open(&sealing, TEE_MODE_ENCRYPT);

	if (!res)
		res = gcm_open(&opening, TEE_MODE_DECRYPT);
	if (res)
		records_close();
	return res;
}

void records_close(void)
{
	gcm_close(&sealing);
	gcm_close(&opening);
}

TEE_Result records_use(const uint8_t seal_key[SEAL_KEY_BYTES])
{
	TEE_Result res = gcm_set_key(&sealing, seal_key, SEAL_KEY_BYTES);

	if (!res)
		res = gcm_set_key(&opening, seal_key, SEAL_KEY_BYTES);
	return res;
}

TEE_Result record_seal(const struct id *id, uint32_t version, const struct key *key, struct keycache_record *record)
{
	const struct gcm_frame frame = {
		.nonce = record->nonce,
		.tag = record->tag,
		.aad = record,
		.aad_bytes = offsetof(struct keycache_record, nonce),
	};

	TEE_MemFill(record, 0, sizeof(*record));
	record->format = KEYCACHE_RECORD_FORMAT;
	record->id_length = id_mark(id);
	record->key_length = key->length;
	record->flags = key->flags;
	record->version = version;
	TEE_MemMove(record->id, id->bytes, id->length);
	TEE_GenerateRandom(record->nonce, sizeof(record->nonce));
	/* All of the space is sealed: what is behind a short key is zeros. */
	return gcm_encrypt(&sealing, &frame, key->bytes, sizeof(key->bytes), record->sealed);
}

bool record_is_last(const struct keycache_record *record)
{
	return !record->nonce[0] && !record->nonce[1] && !record->nonce[2] && record->nonce[3] < 32;
}

TEE_Result record_open(const struct keycache_record *record, const struct id *id, uint32_t version, struct key *key)
{
	uint8_t tag[KEYCACHE_TAG_BYTES];
	const struct gcm_frame frame = {
		.nonce = record->nonce,
		.tag = tag,
		.aad = record,
		.aad_bytes = offsetof(struct keycache_record, nonce),
	};
	TEE_Result res;

	if (record->format != KEYCACHE_RECORD_FORMAT || record->id_length != id_mark(id) ||
	    TEE_MemCompare(record->id, id->bytes, sizeof(record->id)))
		return KEYCACHE_FORGED;
	if (record->version != version)
		return KEYCACHE_STALE;

	TEE_MemMove(tag, record->tag, sizeof(tag));
	res = gcm_decrypt(&opening, &frame, record->sealed, sizeof(record->sealed), key->bytes);
	if (res)
		return res == TEE_ERROR_MAC_INVALID ? KEYCACHE_FORGED : res;
	/* Only the TA makes records that open, so what is in them is what it once checked. */
	key->length = record->key_length;
	key->flags = record->flags;
	return TEE_SUCCESS;
}
