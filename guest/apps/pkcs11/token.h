/* SPDX-License-Identifier: BSD-2-Clause */
/* A token of OP-TEE's PKCS#11 TA by libckteec: each function ends the program with the name of the CKR_ value if a call fails. */
#ifndef WORLDWISE_APPS_PKCS11_TOKEN_H
#define WORLDWISE_APPS_PKCS11_TOKEN_H

#include <pkcs11.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest signature, tag or modulus: RSA-2048. */
#define TOKEN_MOST_BYTES 256
#define TOKEN_TAG_BYTES 16
#define TOKEN_IV_BYTES 12
/* Of imported secrets. */
#define TOKEN_SECRET_BYTES 32
/* The key of the case; others have the numbers after it. */
#define TOKEN_KEY 1

enum token_kind { TOKEN_P256, TOKEN_P384, TOKEN_RSA2048, TOKEN_HMAC, TOKEN_AES256, TOKEN_KINDS };

/* A key of the case. A secret has one handle; its bytes are `open`, as a public key's are. */
struct token_key {
	enum token_kind kind;
	bool stored; /* a token object, in secure storage; else a session object, in the TA's memory */
	CK_OBJECT_HANDLE public;
	CK_OBJECT_HANDLE private;
	uint8_t open[TOKEN_MOST_BYTES];
	size_t open_size;
};

struct token_bytes {
	uint8_t bytes[TOKEN_MOST_BYTES];
	CK_ULONG size;
};

/* Ends the program unless a call went well. */
void token_must(CK_RV rv, const char *call);

void token_initialize(void);
void token_finalize(void);
CK_SESSION_HANDLE token_open(void);
void token_close(CK_SESSION_HANDLE session);
void token_login(CK_SESSION_HANDLE session);
void token_logout(CK_SESSION_HANDLE session);

/* Makes the token: its label, and the PIN of its user. */
void token_create(void);

/* C_GenerateKeyPair alone, and what a host needs of the public key. */
void token_generate(CK_SESSION_HANDLE session, struct token_key *key, uint8_t id);
void token_read_public(CK_SESSION_HANDLE session, struct token_key *key);
/* A secret whose bytes anybody can make again, by C_CreateObject. */
void token_import(CK_SESSION_HANDLE session, struct token_key *key, uint8_t id);
void token_destroy(CK_SESSION_HANDLE session, struct token_key *key);

/* C_FindObjectsInit, C_FindObjects, C_FindObjectsFinal: the one object of that class with that number. */
CK_OBJECT_HANDLE token_find(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class, uint8_t id);

/* C_SignInit and C_Sign; C_VerifyInit and C_Verify, whose answer is returned. */
void token_sign(CK_SESSION_HANDLE session, const struct token_key *key, const uint8_t *message, size_t size,
		struct token_bytes *signature);
CK_RV token_verify(CK_SESSION_HANDLE session, const struct token_key *key, const uint8_t *message, size_t size,
		   const struct token_bytes *signature);

/* AES-256 in GCM: C_EncryptInit and C_Encrypt; `out` has room for the tag behind the message. Decrypting may be refused. */
void token_encrypt(CK_SESSION_HANDLE session, const struct token_key *key, uint8_t iv[TOKEN_IV_BYTES],
		   const uint8_t *message, size_t size, uint8_t *out);
CK_RV token_decrypt(CK_SESSION_HANDLE session, const struct token_key *key, uint8_t iv[TOKEN_IV_BYTES],
		    const uint8_t *sealed, size_t size, uint8_t *out);

#endif /* WORLDWISE_APPS_PKCS11_TOKEN_H */
