/* SPDX-License-Identifier: BSD-2-Clause */
/* The authority, as it is outside of the device: by OpenSSL alone, and by keycache_ta.h. So are a client's pair and its key. */
#ifndef AUTHORITY_H
#define AUTHORITY_H

#include <openssl/evp.h>

#include "test.h"

struct authority {
	EVP_PKEY *signer;
	EVP_PKEY *backup;
	uint8_t ta[KEYCACHE_POINT_BYTES]; /* of the device that it was paired with */
};

/* New keys; of a device it knows what it shows now. */
void authority_make(struct authority *authority);
void authority_free(struct authority *authority);
/* Names `next` the authority; in the first one `by` is NULL. */
struct keycache_trust authority_trust(const struct authority *by, const struct authority *next, uint64_t serial);

/* Statements that wait for authority_sign. */
struct keycache_enrolment enrolment_of(const struct authority *authority, const char *id, uint8_t flags,
				       uint64_t serial);
/* With make_key's key of a number, wrapped. */
void authority_wrap(const struct authority *authority, struct keycache_enrolment *enrolment, unsigned int number);
/* The TA makes the key; `client` gets it, or nobody. */
void authority_let_generate(struct keycache_enrolment *enrolment, const EVP_PKEY *client);
/* The same of a key of 16 bytes with something behind it. */
void authority_wrap_long(const struct authority *authority, struct keycache_enrolment *enrolment, unsigned int number);
void authority_sign_trust(const struct authority *authority, struct keycache_trust *trust);
void authority_sign(const struct authority *authority, struct keycache_enrolment *enrolment);
/* All of it: makes a wrapped enrolment and hands it to the TA. */
TEE_Result authority_enrol(const struct authority *authority, const char *id, unsigned int number, uint8_t flags,
			   uint64_t serial, uint32_t how);
/* What a client learns of a handover. */
bool client_takes(EVP_PKEY *client, const struct keycache_enrolment *enrolment,
		  const struct keycache_handover *handover, uint8_t key[KEYCACHE_KEY_BYTES]);
/* Seals for a client's point as somebody other than the TA, with the pair `own`. */
void client_is_given(EVP_PKEY *own, EVP_PKEY *client, const struct keycache_enrolment *enrolment, unsigned int number,
		     struct keycache_handover *handover);
/* Opens a wrapped key as the TA does, with a pair that is not its own. */
bool authority_unwraps(EVP_PKEY *own, const struct keycache_enrolment *enrolment, uint8_t key[KEYCACHE_KEY_BYTES]);
/* Whether the device has made this part of a backup, with keys or without. */
bool authority_knows(const struct authority *authority, const struct keycache_backup *backup);
bool authority_opens(const struct authority *authority, const struct keycache_backup *backup,
		     const struct keycache_saved *saved, uint8_t key[KEYCACHE_KEY_BYTES]);

void point_of(const EVP_PKEY *key, uint8_t point[KEYCACHE_POINT_BYTES]);
EVP_PKEY *new_pair(void);
void sha256_of(const void *bytes, size_t size, uint8_t digest[32]);

#endif /* AUTHORITY_H */
