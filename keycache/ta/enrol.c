/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A statement's form is looked at first, then for whom it is and who signed it, and what it says last. So whoever has no signature
 * of the authority's learns nothing of the TA's state, and keeps it busy with no more than one verification.
 */
#include "enrol.h"

#include <stddef.h>

#include "curve.h"
#include "points.h"
#include "store.h"

_Static_assert(sizeof(struct keycache_identity) == 192, "an identity has no gaps");
_Static_assert(sizeof(struct keycache_trust) == 240, "a trust has no gaps");
_Static_assert(sizeof(struct keycache_enrolment) == 304, "an enrolment has no gaps");
_Static_assert(sizeof(struct keycache_handover) == 124, "a handover has no gaps");
_Static_assert(sizeof(struct keycache_backup) == 144, "a backup's beginning has no gaps");
_Static_assert(sizeof(struct keycache_saved) == 128, "a saved key has no gaps");

#define SIGNED(type) offsetof(type, signature)
/* Of a part of a backup: what is authenticated. */
#define PART_BYTES offsetof(struct keycache_backup, tag)

static bool is_zero(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint8_t all = 0;

	while (size--)
		all |= *at++;
	return !all;
}

void enrol_identity(struct keycache_identity *identity)
{
	const struct meta *meta = keys_meta();

	TEE_MemMove(identity->ta, meta->pair.point, sizeof(identity->ta));
	TEE_MemMove(identity->signer, meta->signer, sizeof(identity->signer));
	TEE_MemMove(identity->backup, meta->backup, sizeof(identity->backup));
}

static bool is_for_us(const uint8_t device[DIGEST_BYTES])
{
	return !TEE_MemCompare(device, keys_device(), DIGEST_BYTES);
}

TEE_Result enrol_trust(const struct keycache_trust *trust)
{
	const struct meta *meta = keys_meta();
	bool first = !meta->trusted;
	struct meta changed;
	TEE_Result res = TEE_SUCCESS;

	if (trust->format != KEYCACHE_STATEMENT_FORMAT || !is_zero(trust->reserved, sizeof(trust->reserved)) ||
	    !curve_has(trust->signer) ||
	    (!is_zero(trust->backup, sizeof(trust->backup)) && !curve_has(trust->backup)) ||
	    (first && !is_zero(trust->signature, sizeof(trust->signature))))
		return TEE_ERROR_BAD_PARAMETERS;
	if (!is_for_us(trust->device))
		return KEYCACHE_UNTRUSTED;
	if (!first)
		res = point_verify(meta->signer, trust, SIGNED(struct keycache_trust), trust->signature);
	if (!res && trust->serial <= meta->trusted)
		res = KEYCACHE_OLD;
	/* A key that waits was set before. */
	if (!res)
		res = keys_flush();
	if (res)
		return res;
	changed = *meta;
	changed.trusted = trust->serial;
	TEE_MemMove(changed.signer, trust->signer, sizeof(changed.signer));
	TEE_MemMove(changed.backup, trust->backup, sizeof(changed.backup));
	res = keys_save_meta(&changed);
	wipe(&changed, sizeof(changed));
	return res;
}

TEE_Result enrol_look(const struct keycache_enrolment *enrolment, struct id *id, bool *hands_over)
{
	const struct keycache_enrolment *e = enrolment;
	bool nobody = is_zero(e->point, sizeof(e->point));
	bool empty = is_zero(e->nonce, sizeof(e->nonce)) && is_zero(e->sealed, sizeof(e->sealed)) &&
		     is_zero(e->tag, sizeof(e->tag));
	TEE_Result res;

	*hands_over = e->kind == KEYCACHE_GENERATED && !nobody;
	if (e->format != KEYCACHE_STATEMENT_FORMAT || (e->kind != KEYCACHE_WRAPPED && e->kind != KEYCACHE_GENERATED) ||
	    (e->key_length != 16 && e->key_length != 32) || e->at_once > 1 ||
	    !is_zero(e->reserved, sizeof(e->reserved)) || !is_zero(e->end, sizeof(e->end)))
		return TEE_ERROR_BAD_PARAMETERS;
	if (!(e->flags & KEYCACHE_ENROLLED) ||
	    e->flags & ~(KEYCACHE_RESTRICTIONS | KEYCACHE_ENROLLED | KEYCACHE_GETTABLE))
		return TEE_ERROR_BAD_PARAMETERS;
	if (e->kind == KEYCACHE_GENERATED ? !empty : nobody)
		return TEE_ERROR_BAD_PARAMETERS;
	if (!nobody && !curve_has(e->point))
		return TEE_ERROR_BAD_PARAMETERS;
	res = id_make(e->id, e->id_length, id);
	if (!res && !is_zero(e->id + id->length, sizeof(e->id) - id->length))
		res = TEE_ERROR_BAD_PARAMETERS;
	return res;
}

static TEE_Result unwrap(const struct keycache_enrolment *enrolment, struct key *key)
{
	uint8_t sealed_bytes[KEYCACHE_KEY_BYTES];
	uint8_t tag[KEYCACHE_TAG_BYTES];
	uint8_t z[DIGEST_BYTES];
	uint8_t with[DIGEST_BYTES];
	const struct sealed_key sealed = { .bytes = sealed_bytes,
					   .tag = tag,
					   .nonce = enrolment->nonce,
					   .aad = enrolment,
					   .aad_bytes = offsetof(struct keycache_enrolment, nonce) };
	TEE_Result res = point_agree(&keys_meta()->pair, enrolment->point, z);

	if (!res) {
		point_key(z, sizeof(z), sealed.aad, sealed.aad_bytes, with);
		TEE_MemMove(sealed_bytes, enrolment->sealed, sizeof(sealed_bytes));
		TEE_MemMove(tag, enrolment->tag, sizeof(tag));
		res = point_unseal(with, &sealed, key->bytes);
	}
	if (!res && !is_zero(key->bytes + key->length, sizeof(key->bytes) - key->length))
		res = KEYCACHE_FORGED;
	wipe(z, sizeof(z));
	wipe(with, sizeof(with));
	return res;
}

static TEE_Result hand_over(const struct keycache_enrolment *enrolment, const struct key *key,
			    struct keycache_handover *handover)
{
	/* As one piece, without gaps. */
	struct {
		uint8_t enrolment[SIGNED(struct keycache_enrolment)];
		uint8_t point[KEYCACHE_POINT_BYTES];
	} info;
	const struct sealed_key sealed = { .bytes = handover->sealed,
					   .tag = handover->tag,
					   .nonce = handover->nonce,
					   .aad = &info,
					   .aad_bytes = sizeof(info) };
	struct pair ephemeral;
	uint8_t z[2 * DIGEST_BYTES];
	uint8_t with[DIGEST_BYTES];
	TEE_Result res = point_make(&ephemeral);

	if (!res)
		res = point_agree(&ephemeral, enrolment->point, z);
	if (!res)
		res = point_agree(&keys_meta()->pair, enrolment->point, z + DIGEST_BYTES);
	if (!res) {
		TEE_MemMove(handover->point, ephemeral.point, sizeof(handover->point));
		TEE_GenerateRandom(handover->nonce, sizeof(handover->nonce));
		TEE_MemMove(info.enrolment, enrolment, sizeof(info.enrolment));
		TEE_MemMove(info.point, ephemeral.point, sizeof(info.point));
		point_key(z, sizeof(z), &info, sizeof(info), with);
		res = point_seal(with, &sealed, key->bytes);
	}
	wipe(&ephemeral, sizeof(ephemeral));
	wipe(z, sizeof(z));
	wipe(with, sizeof(with));
	return res;
}

/* No serial that was ever accepted comes again, even if the slot that had it is lost. */
static TEE_Result note_serial(uint64_t serial)
{
	struct meta changed = *keys_meta();
	TEE_Result res = TEE_SUCCESS;

	if (serial > changed.highest) {
		changed.highest = serial;
		res = keys_save_meta(&changed);
	}
	wipe(&changed, sizeof(changed));
	return res;
}

TEE_Result enrol_verify(const struct keycache_enrolment *enrolment, const struct id *id)
{
	TEE_Result res;

	if (!keys_meta()->trusted || !is_for_us(enrolment->device))
		return KEYCACHE_UNTRUSTED;
	res = point_verify(keys_meta()->signer, enrolment, SIGNED(struct keycache_enrolment), enrolment->signature);
	return res ? res : keys_may_set(id, keys_flags(enrolment->flags), enrolment->serial);
}

TEE_Result enrol_key(const struct keycache_enrolment *enrolment, const struct id *id, bool keep,
		     struct records *records, struct keycache_handover *handover)
{
	const struct setting setting = { .keep = keep && !enrolment->at_once,
					 .at_once = enrolment->at_once,
					 .serial = enrolment->serial };
	struct key key = { .length = enrolment->key_length, .flags = keys_flags(enrolment->flags) };
	TEE_Result res = enrol_verify(enrolment, id);

	if (res)
		return res;
	if (enrolment->kind == KEYCACHE_GENERATED)
		TEE_GenerateRandom(key.bytes, key.length);
	else
		res = unwrap(enrolment, &key);
	if (!res && handover)
		res = hand_over(enrolment, &key, handover);
	if (!res)
		res = note_serial(enrolment->serial);
	if (!res)
		res = keys_set(id, &key, &setting, records);
	wipe(&key, sizeof(key));
	return res;
}

/*
 * The backup that goes on: the number of its parts, how many there were, and where the next one begins, or 0. Only the TA knows that,
 * or who asks could have two parts of the same place under one number.
 */
static struct {
	uint8_t number[KEYCACHE_NUMBER_BYTES];
	uint32_t parts;
	uint32_t next;
} going;

void enrol_forget(void)
{
	going.next = 0;
}

/* Keys that are about to be sealed: until then each is in the clear in its place. */
struct part {
	struct keycache_saved *saved;
	uint32_t count;
	uint32_t most;
};

static bool save_slot(const struct slot *slot, void *context)
{
	struct part *part = context;
	struct keycache_saved *saved = &part->saved[part->count];

	if (!keys_paired(slot))
		return true;
	if (part->count == part->most)
		return false;
	*saved = (struct keycache_saved){ .id_length = slot->id_length,
					  .key_length = slot->key_length,
					  .flags = slot->flags,
					  .number = part->count,
					  .serial = slot->serial };
	TEE_MemMove(saved->id, slot->id, sizeof(saved->id));
	TEE_MemMove(saved->sealed, slot->key, sizeof(saved->sealed));
	part->count++;
	return true;
}

static TEE_Result seal_part(const struct keycache_backup *backup, const uint8_t with[DIGEST_BYTES],
			    struct keycache_saved *saved)
{
	/* As one piece, without gaps. */
	struct {
		uint8_t backup[PART_BYTES];
		uint8_t saved[offsetof(struct keycache_saved, sealed)];
	} aad;
	uint8_t nonce[KEYCACHE_NONCE_BYTES] = { 0 };
	uint8_t key[KEYCACHE_KEY_BYTES];
	const struct sealed_key sealed = {
		.bytes = saved->sealed, .tag = saved->tag, .nonce = nonce, .aad = &aad, .aad_bytes = sizeof(aad)
	};
	TEE_Result res;

	TEE_MemMove(aad.backup, backup, sizeof(aad.backup));
	TEE_MemMove(aad.saved, saved, sizeof(aad.saved));
	TEE_MemMove(nonce, &saved->number, sizeof(saved->number));
	TEE_MemMove(key, saved->sealed, sizeof(key));
	res = point_seal(with, &sealed, key);
	wipe(key, sizeof(key));
	return res;
}

/* The key of a part, by an ephemeral pair and by the TA's own. */
static TEE_Result agree_on_part(struct keycache_backup *backup, uint8_t with[DIGEST_BYTES])
{
	const struct meta *meta = keys_meta();
	uint8_t z[2 * DIGEST_BYTES];
	struct pair ephemeral;
	TEE_Result res = point_make(&ephemeral);

	if (!res)
		res = point_agree(&ephemeral, meta->backup, z);
	if (!res)
		res = point_agree(&meta->pair, meta->backup, z + DIGEST_BYTES);
	if (!res) {
		TEE_MemMove(backup->point, ephemeral.point, sizeof(backup->point));
		point_key(z, sizeof(z), backup, PART_BYTES, with);
	}
	wipe(&ephemeral, sizeof(ephemeral));
	wipe(z, sizeof(z));
	return res;
}

TEE_Result enrol_backup(uint32_t *position, void *out, size_t *bytes)
{
	struct keycache_backup *backup = out;
	struct part part = { .saved = (void *)(backup + 1),
			     .most = (uint32_t)((*bytes - sizeof(*backup)) / sizeof(struct keycache_saved)) };
	uint8_t with[DIGEST_BYTES];
	uint32_t next = *position;
	uint32_t at;
	TEE_Result res;

	if (!keys_meta()->trusted || is_zero(keys_meta()->backup, sizeof(keys_meta()->backup)))
		return KEYCACHE_UNTRUSTED;
	if (*position && *position != going.next)
		return TEE_ERROR_BAD_STATE;
	if (!*position) {
		TEE_GenerateRandom(going.number, sizeof(going.number));
		going.parts = 0;
		going.next = 0;
	}
	res = keys_walk(&next, save_slot, &part);
	*backup = (struct keycache_backup){
		.format = KEYCACHE_BACKUP_FORMAT, .last = !next, .count = part.count, .part = going.parts
	};
	TEE_MemMove(backup->number, going.number, sizeof(backup->number));
	TEE_MemMove(backup->device, keys_device(), sizeof(backup->device));
	if (!res)
		res = agree_on_part(backup, with);
	if (!res)
		res = point_mark(with, backup, PART_BYTES, backup->tag);
	for (at = 0; !res && at < part.count; at++)
		res = seal_part(backup, with, &part.saved[at]);
	wipe(with, sizeof(with));
	*bytes = sizeof(*backup) + part.count * sizeof(struct keycache_saved);
	if (res) {
		wipe(out, *bytes);
		return res;
	}
	going.parts++;
	going.next = next;
	*position = next;
	return TEE_SUCCESS;
}
