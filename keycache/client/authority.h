/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The authority: who says which client gets which key, where the device's normal world has no say. A folder with two pairs of keys of
 * P-256: `signer` signs statements, `backup` is whom backups are sealed for. What fails is said on stderr.
 *
 *	signer.key, backup.key	private keys, PEM; encrypted if that was asked for
 *	signer.pub, backup.pub	their public halves
 *	NAME.device		a device's point, as it was when the two were paired; PEM
 *	serial			of the last statement that was made
 */
#ifndef KEYCACHE_AUTHORITY_H
#define KEYCACHE_AUTHORITY_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keycache_ta.h"

#define AUTHORITY_PATH_BYTES 4096

struct authority {
	const char *folder;
	const char *passphrase; /* a file whose first line it is, or NULL: the tool asks for it */
	int directory;          /* locked while it is open */
	uint8_t signer[KEYCACHE_POINT_BYTES];
	uint8_t backup[KEYCACHE_POINT_BYTES];
	EVP_PKEY *signer_pair; /* once it was needed */
	EVP_PKEY *backup_pair;
};

/* Makes a folder, which nobody else may look into. */
bool authority_make(const char *folder, bool encrypt, const char *passphrase);
bool authority_open(struct authority *authority, const char *folder, const char *passphrase);
void authority_close(struct authority *authority);

bool authority_save_device(const struct authority *authority, const char *name,
			   const uint8_t point[KEYCACHE_POINT_BYTES]);
bool authority_read_device(const struct authority *authority, const char *name, uint8_t point[KEYCACHE_POINT_BYTES]);
/* Calls `each` for all of them. */
void authority_devices(const struct authority *authority,
		       void (*each)(const char *name, const uint8_t point[KEYCACHE_POINT_BYTES], void *context),
		       void *context);
/* A public key, or the public half of a pair, from a file (PEM). */
bool authority_read_point(const char *path, uint8_t point[KEYCACHE_POINT_BYTES]);
EVP_PKEY *authority_read_pair(const char *path, const char *passphrase);

/* That a device trusts `next`: signed by this one, unless it is the first one the device hears of (signer NULL). */
bool authority_trust(const struct authority *next, struct authority *signer, const uint8_t device[KEYCACHE_POINT_BYTES],
		     struct keycache_trust *statement);

struct enrolment_wish {
	const char *id;
	const uint8_t *key; /* or NULL: the TA makes it */
	size_t key_size;
	const uint8_t *client; /* a point: whom a key that the TA makes is handed over to; or NULL */
	uint32_t restrictions; /* as keycache_use.h reads them */
	bool at_once;
};

bool authority_enrolment(struct authority *authority, const struct enrolment_wish *wish,
			 const uint8_t device[KEYCACHE_POINT_BYTES], struct keycache_enrolment *statement);
/* The client's side of a key that the TA made. */
bool handover_open(const struct keycache_enrolment *statement, const struct keycache_handover *handover,
		   const uint8_t device[KEYCACHE_POINT_BYTES], EVP_PKEY *client, uint8_t key[KEYCACHE_KEY_BYTES]);

struct saved_key {
	char id[KEYCACHE_ID_BYTES + 1];
	bool previous;
	uint8_t flags;
	uint8_t size;
	uint8_t key[KEYCACHE_KEY_BYTES];
};

/* All keys of a backup that is whole, and of a device that is known here; by OPENSSL_clear_free. */
bool authority_open_backup(struct authority *authority, const uint8_t *bytes, size_t size, struct saved_key **keys,
			   size_t *count);

#endif /* KEYCACHE_AUTHORITY_H */
