/* SPDX-License-Identifier: BSD-2-Clause */
#include "authority.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stddef.h>
#include <stdlib.h>

#define Z_BYTES 32

static void must(bool good)
{
	if (!good)
		abort();
}

EVP_PKEY *new_pair(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	must(key);
	return key;
}

void sha256_of(const void *bytes, size_t size, uint8_t digest[32])
{
	(void)SHA256(bytes, size, digest);
}

void point_of(const EVP_PKEY *key, uint8_t point[KEYCACHE_POINT_BYTES])
{
	static const char *const halves[] = { OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		BIGNUM *number = NULL;

		must(EVP_PKEY_get_bn_param(key, halves[i], &number) == 1 &&
		     BN_bn2binpad(number, point + i * 32, 32) == 32);
		BN_free(number);
	}
}

static EVP_PKEY *key_of_point(const uint8_t point[KEYCACHE_POINT_BYTES])
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	uint8_t encoded[1 + KEYCACHE_POINT_BYTES] = { 4 };
	OSSL_PARAM *parameters;
	EVP_PKEY *key = NULL;

	memcpy(encoded + 1, point, KEYCACHE_POINT_BYTES);
	must(context && builder &&
	     OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
	     OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, encoded, sizeof(encoded)) == 1);
	parameters = OSSL_PARAM_BLD_to_param(builder);
	must(parameters && EVP_PKEY_fromdata_init(context) == 1 &&
	     EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) == 1);
	OSSL_PARAM_free(parameters);
	OSSL_PARAM_BLD_free(builder);
	EVP_PKEY_CTX_free(context);
	return key;
}

static void agree(EVP_PKEY *own, const uint8_t point[KEYCACHE_POINT_BYTES], uint8_t z[Z_BYTES])
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(own, NULL);
	EVP_PKEY *other = key_of_point(point);
	size_t bytes = Z_BYTES;

	must(context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, other) == 1 &&
	     EVP_PKEY_derive(context, z, &bytes) == 1 && bytes == Z_BYTES);
	EVP_PKEY_free(other);
	EVP_PKEY_CTX_free(context);
}

/* SHA-256(00000001 || z || info) */
static void derive(const uint8_t *z, size_t z_bytes, const void *info, size_t info_bytes, uint8_t key[32])
{
	static uint8_t all[1024] = { 0, 0, 0, 1 };

	must(4 + z_bytes + info_bytes <= sizeof(all));
	memcpy(all + 4, z, z_bytes);
	memcpy(all + 4 + z_bytes, info, info_bytes);
	sha256_of(all, 4 + z_bytes + info_bytes, key);
}

static void seal_key(const uint8_t with[32], const uint8_t nonce[12], const void *aad, size_t aad_bytes,
		     const uint8_t key[32], uint8_t sealed[32], uint8_t tag[16])
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	int written;

	must(EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, with, nonce) == 1 &&
	     EVP_EncryptUpdate(cipher, NULL, &written, aad, (int)aad_bytes) == 1 &&
	     EVP_EncryptUpdate(cipher, sealed, &written, key, 32) == 1 &&
	     EVP_EncryptFinal_ex(cipher, sealed + 32, &written) == 1 &&
	     EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1);
	EVP_CIPHER_CTX_free(cipher);
}

static bool open_bytes(const uint8_t with[32], const uint8_t nonce[12], const void *aad, size_t aad_bytes,
		       const uint8_t *sealed, size_t size, const uint8_t tag[16], uint8_t *text)
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	uint8_t copy[16];
	uint8_t rest[16];
	int written;
	bool good;

	memcpy(copy, tag, sizeof(copy));
	must(EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, with, nonce) == 1 &&
	     EVP_DecryptUpdate(cipher, NULL, &written, aad, (int)aad_bytes) == 1 &&
	     (!size || EVP_DecryptUpdate(cipher, text, &written, sealed, (int)size) == 1) &&
	     EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, 16, copy) == 1);
	good = EVP_DecryptFinal_ex(cipher, rest, &written) == 1;
	EVP_CIPHER_CTX_free(cipher);
	return good;
}

static bool open_key(const uint8_t with[32], const uint8_t nonce[12], const void *aad, size_t aad_bytes,
		     const uint8_t sealed[32], const uint8_t tag[16], uint8_t key[32])
{
	return open_bytes(with, nonce, aad, aad_bytes, sealed, 32, tag, key);
}

static void sign(EVP_PKEY *signer, const void *statement, size_t bytes, uint8_t signature[64])
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(signer, NULL);
	uint8_t digest[32];
	uint8_t encoded[80];
	const uint8_t *at = encoded;
	size_t size = sizeof(encoded);
	ECDSA_SIG *pair;

	sha256_of(statement, bytes, digest);
	must(context && EVP_PKEY_sign_init(context) == 1 &&
	     EVP_PKEY_sign(context, encoded, &size, digest, sizeof(digest)) == 1);
	pair = d2i_ECDSA_SIG(NULL, &at, (long)size);
	must(pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), signature, 32) == 32 &&
	     BN_bn2binpad(ECDSA_SIG_get0_s(pair), signature + 32, 32) == 32);
	ECDSA_SIG_free(pair);
	EVP_PKEY_CTX_free(context);
}

void authority_make(struct authority *authority)
{
	const struct keycache_identity shown = identity();

	authority->signer = new_pair();
	authority->backup = new_pair();
	memcpy(authority->ta, shown.ta, sizeof(authority->ta));
}

void authority_free(struct authority *authority)
{
	EVP_PKEY_free(authority->signer);
	EVP_PKEY_free(authority->backup);
}

struct keycache_trust authority_trust(const struct authority *by, const struct authority *next, uint64_t serial)
{
	struct keycache_trust trust = { .format = KEYCACHE_STATEMENT_FORMAT, .serial = serial };

	sha256_of(next->ta, sizeof(next->ta), trust.device);
	point_of(next->signer, trust.signer);
	point_of(next->backup, trust.backup);
	if (by)
		authority_sign_trust(by, &trust);
	return trust;
}

void authority_sign_trust(const struct authority *authority, struct keycache_trust *trust)
{
	sign(authority->signer, trust, offsetof(struct keycache_trust, signature), trust->signature);
}

struct keycache_enrolment enrolment_of(const struct authority *authority, const char *id, uint8_t flags,
				       uint64_t serial)
{
	struct keycache_enrolment enrolment = { .format = KEYCACHE_STATEMENT_FORMAT,
						.id_length = (uint8_t)strlen(id),
						.key_length = 32,
						.flags = flags | KEYCACHE_ENROLLED,
						.serial = serial };

	memcpy(enrolment.id, id, enrolment.id_length);
	sha256_of(authority->ta, sizeof(authority->ta), enrolment.device);
	return enrolment;
}

static void wrap(const struct authority *authority, struct keycache_enrolment *enrolment, unsigned int number,
		 size_t bytes)
{
	const size_t before = offsetof(struct keycache_enrolment, nonce);
	EVP_PKEY *ephemeral = new_pair();
	uint8_t key[KEYCACHE_KEY_BYTES];
	uint8_t with[32];
	uint8_t z[Z_BYTES];

	enrolment->kind = KEYCACHE_WRAPPED;
	point_of(ephemeral, enrolment->point);
	agree(ephemeral, authority->ta, z);
	derive(z, sizeof(z), enrolment, before, with);
	make_key(number, key);
	memset(key + bytes, 0, sizeof(key) - bytes);
	must(RAND_bytes(enrolment->nonce, sizeof(enrolment->nonce)) == 1);
	seal_key(with, enrolment->nonce, enrolment, before, key, enrolment->sealed, enrolment->tag);
	EVP_PKEY_free(ephemeral);
}

void authority_wrap(const struct authority *authority, struct keycache_enrolment *enrolment, unsigned int number)
{
	wrap(authority, enrolment, number, enrolment->key_length);
}

void authority_wrap_long(const struct authority *authority, struct keycache_enrolment *enrolment, unsigned int number)
{
	enrolment->key_length = 16;
	wrap(authority, enrolment, number, 17);
}

void authority_let_generate(struct keycache_enrolment *enrolment, const EVP_PKEY *client)
{
	enrolment->kind = KEYCACHE_GENERATED;
	if (client)
		point_of(client, enrolment->point);
}

void authority_sign(const struct authority *authority, struct keycache_enrolment *enrolment)
{
	sign(authority->signer, enrolment, offsetof(struct keycache_enrolment, signature), enrolment->signature);
}

TEE_Result authority_enrol(const struct authority *authority, const char *id, unsigned int number, uint8_t flags,
			   uint64_t serial, uint32_t how)
{
	struct keycache_enrolment enrolment = enrolment_of(authority, id, flags, serial);
	struct keycache_record records[2];
	struct keycache_handover handover;
	size_t count;
	size_t bytes;

	authority_wrap(authority, &enrolment, number);
	authority_sign(authority, &enrolment);
	return enrol(&enrolment, how, records, &count, &handover, &bytes);
}

bool client_takes(EVP_PKEY *client, const struct keycache_enrolment *enrolment,
		  const struct keycache_handover *handover, uint8_t key[KEYCACHE_KEY_BYTES])
{
	const size_t before = offsetof(struct keycache_enrolment, signature);
	uint8_t info[sizeof(*enrolment) + KEYCACHE_POINT_BYTES];
	const struct keycache_identity shown = identity();
	uint8_t with[32];
	uint8_t z[2 * Z_BYTES];

	memcpy(info, enrolment, before);
	memcpy(info + before, handover->point, sizeof(handover->point));
	agree(client, handover->point, z);
	/* That the TA itself made it. */
	agree(client, shown.ta, z + Z_BYTES);
	derive(z, sizeof(z), info, before + sizeof(handover->point), with);
	return open_key(with, handover->nonce, info, before + sizeof(handover->point), handover->sealed, handover->tag,
			key);
}

void client_is_given(EVP_PKEY *own, EVP_PKEY *client, const struct keycache_enrolment *enrolment, unsigned int number,
		     struct keycache_handover *handover)
{
	const size_t before = offsetof(struct keycache_enrolment, signature);
	uint8_t info[sizeof(*enrolment) + KEYCACHE_POINT_BYTES];
	uint8_t point[KEYCACHE_POINT_BYTES];
	uint8_t key[KEYCACHE_KEY_BYTES];
	uint8_t with[32];
	uint8_t z[2 * Z_BYTES];

	point_of(client, point);
	point_of(own, handover->point);
	memcpy(info, enrolment, before);
	memcpy(info + before, handover->point, sizeof(handover->point));
	/* The TA's own half of it takes the TA's pair: this is the best there is. */
	agree(own, point, z);
	agree(own, point, z + Z_BYTES);
	derive(z, sizeof(z), info, before + sizeof(handover->point), with);
	make_key(number, key);
	must(RAND_bytes(handover->nonce, sizeof(handover->nonce)) == 1);
	seal_key(with, handover->nonce, info, before + sizeof(handover->point), key, handover->sealed, handover->tag);
}

bool authority_unwraps(EVP_PKEY *own, const struct keycache_enrolment *enrolment, uint8_t key[KEYCACHE_KEY_BYTES])
{
	const size_t before = offsetof(struct keycache_enrolment, nonce);
	uint8_t with[32];
	uint8_t z[Z_BYTES];

	agree(own, enrolment->point, z);
	derive(z, sizeof(z), enrolment, before, with);
	return open_key(with, enrolment->nonce, enrolment, before, enrolment->sealed, enrolment->tag, key);
}

#define PART_BYTES offsetof(struct keycache_backup, tag)

static void agree_on_part(const struct authority *authority, const struct keycache_backup *backup, uint8_t with[32])
{
	uint8_t z[2 * Z_BYTES];

	agree(authority->backup, backup->point, z);
	/* That the TA itself made it. */
	agree(authority->backup, authority->ta, z + Z_BYTES);
	derive(z, sizeof(z), backup, PART_BYTES, with);
}

bool authority_knows(const struct authority *authority, const struct keycache_backup *backup)
{
	uint8_t nonce[KEYCACHE_NONCE_BYTES];
	uint8_t with[32];

	agree_on_part(authority, backup, with);
	memset(nonce, 255, sizeof(nonce));
	return open_bytes(with, nonce, backup, PART_BYTES, NULL, 0, backup->tag, NULL);
}

bool authority_opens(const struct authority *authority, const struct keycache_backup *backup,
		     const struct keycache_saved *saved, uint8_t key[KEYCACHE_KEY_BYTES])
{
	const size_t before = offsetof(struct keycache_saved, sealed);
	uint8_t aad[sizeof(*backup) + sizeof(*saved)];
	uint8_t nonce[KEYCACHE_NONCE_BYTES] = { 0 };
	uint8_t with[32];

	agree_on_part(authority, backup, with);
	memcpy(aad, backup, PART_BYTES);
	memcpy(aad + PART_BYTES, saved, before);
	memcpy(nonce, &saved->number, sizeof(saved->number));
	return open_key(with, nonce, aad, PART_BYTES + before, saved->sealed, saved->tag, key);
}
