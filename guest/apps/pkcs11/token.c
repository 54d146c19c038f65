/* SPDX-License-Identifier: BSD-2-Clause */
#include "token.h"

#include <string.h>

#include "../../bench/bench.h"
#include "ckr.h"

/* The first of the TA's tokens. */
#define SLOT 0

static const CK_BYTE so_pin[] = "12345678";
static const CK_BYTE user_pin[] = "87654321";
/* The curves' object identifiers, as PKCS#11 takes them. */
static CK_BYTE p256[] = { 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07 };
static CK_BYTE p384[] = { 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22 };
static CK_BYTE exponent[] = { 0x01, 0x00, 0x01 };
static CK_BBOOL yes = CK_TRUE;
static CK_BBOOL no = CK_FALSE;

void token_must(CK_RV rv, const char *call)
{
	if (rv != CKR_OK)
		bench_fail("%s failed: %s", call, ckr_name(rv));
}

void token_initialize(void)
{
	token_must(C_Initialize(NULL), "C_Initialize");
}

void token_finalize(void)
{
	token_must(C_Finalize(NULL), "C_Finalize");
}

CK_SESSION_HANDLE token_open(void)
{
	CK_SESSION_HANDLE session = CK_INVALID_HANDLE;

	token_must(C_OpenSession(SLOT, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &session), "C_OpenSession");
	return session;
}

void token_close(CK_SESSION_HANDLE session)
{
	token_must(C_CloseSession(session), "C_CloseSession");
}

static void login(CK_SESSION_HANDLE session, CK_USER_TYPE user, const CK_BYTE *pin, CK_ULONG size)
{
	token_must(C_Login(session, user, (CK_BYTE_PTR)(uintptr_t)pin, size), "C_Login");
}

void token_login(CK_SESSION_HANDLE session)
{
	login(session, CKU_USER, user_pin, sizeof(user_pin) - 1);
}

void token_logout(CK_SESSION_HANDLE session)
{
	token_must(C_Logout(session), "C_Logout");
}

void token_create(void)
{
	CK_UTF8CHAR label[32];
	CK_SESSION_HANDLE session;

	memset(label, ' ', sizeof(label));
	memcpy(label, "worldwise", 9);
	token_must(C_InitToken(SLOT, (CK_BYTE_PTR)(uintptr_t)so_pin, sizeof(so_pin) - 1, label), "C_InitToken");
	session = token_open();
	login(session, CKU_SO, so_pin, sizeof(so_pin) - 1);
	token_must(C_InitPIN(session, (CK_BYTE_PTR)(uintptr_t)user_pin, sizeof(user_pin) - 1), "C_InitPIN");
	token_logout(session);
	token_close(session);
}

void token_generate(CK_SESSION_HANDLE session, struct token_key *key, uint8_t id)
{
	bool rsa = key->kind == TOKEN_RSA2048;
	CK_MECHANISM mechanism = { rsa ? CKM_RSA_PKCS_KEY_PAIR_GEN : CKM_EC_KEY_PAIR_GEN, NULL, 0 };
	CK_BYTE *curve = key->kind == TOKEN_P256 ? p256 : p384;
	CK_ULONG curve_size = key->kind == TOKEN_P256 ? sizeof(p256) : sizeof(p384);
	CK_BBOOL *stored = key->stored ? &yes : &no;
	CK_ULONG bits = 2048;
	/* The last two or the last but two are of one kind of key alone. */
	CK_ATTRIBUTE public[] = {
		{ CKA_TOKEN, stored, sizeof(*stored) },
		{ CKA_ID, &id, sizeof(id) },
		{ CKA_VERIFY, &yes, sizeof(yes) },
		rsa ? (CK_ATTRIBUTE){ CKA_MODULUS_BITS, &bits, sizeof(bits) }
		    : (CK_ATTRIBUTE){ CKA_EC_PARAMS, curve, curve_size },
		{ CKA_PUBLIC_EXPONENT, exponent, sizeof(exponent) },
	};
	CK_ATTRIBUTE private[] = {
		{ CKA_TOKEN, stored, sizeof(*stored) }, { CKA_ID, &id, sizeof(id) },
		{ CKA_PRIVATE, &yes, sizeof(yes) },     { CKA_SENSITIVE, &yes, sizeof(yes) },
		{ CKA_SIGN, &yes, sizeof(yes) },
	};

	token_must(C_GenerateKeyPair(session, &mechanism, public, rsa ? 5 : 4, private,
				     sizeof(private) / sizeof(private[0]), &key->public, &key->private),
		   "C_GenerateKeyPair");
}

void token_read_public(CK_SESSION_HANDLE session, struct token_key *key)
{
	CK_ATTRIBUTE wanted = { key->kind == TOKEN_RSA2048 ? CKA_MODULUS : CKA_EC_POINT, key->open, sizeof(key->open) };

	token_must(C_GetAttributeValue(session, key->public, &wanted, 1), "C_GetAttributeValue");
	key->open_size = wanted.ulValueLen;
}

void token_import(CK_SESSION_HANDLE session, struct token_key *key, uint8_t id)
{
	CK_OBJECT_CLASS class = CKO_SECRET_KEY;
	bool aes = key->kind == TOKEN_AES256;
	CK_KEY_TYPE type = aes ? CKK_AES : CKK_GENERIC_SECRET;
	CK_BBOOL *stored = key->stored ? &yes : &no;
	CK_ATTRIBUTE secret[] = {
		{ CKA_CLASS, &class, sizeof(class) },
		{ CKA_KEY_TYPE, &type, sizeof(type) },
		{ CKA_TOKEN, stored, sizeof(*stored) },
		{ CKA_ID, &id, sizeof(id) },
		{ CKA_PRIVATE, &yes, sizeof(yes) },
		{ aes ? CKA_ENCRYPT : CKA_SIGN, &yes, sizeof(yes) },
		{ aes ? CKA_DECRYPT : CKA_VERIFY, &yes, sizeof(yes) },
		{ CKA_VALUE, key->open, TOKEN_SECRET_BYTES },
	};

	for (uint8_t i = 0; i < TOKEN_SECRET_BYTES; i++)
		key->open[i] = (uint8_t)(0x40 + i);
	key->open_size = TOKEN_SECRET_BYTES;
	token_must(C_CreateObject(session, secret, sizeof(secret) / sizeof(secret[0]), &key->private),
		   "C_CreateObject");
}

void token_destroy(CK_SESSION_HANDLE session, struct token_key *key)
{
	token_must(C_DestroyObject(session, key->public), "C_DestroyObject");
	token_must(C_DestroyObject(session, key->private), "C_DestroyObject");
}

CK_OBJECT_HANDLE token_find(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class, uint8_t id)
{
	CK_ATTRIBUTE wanted[] = { { CKA_CLASS, &class, sizeof(class) }, { CKA_ID, &id, sizeof(id) } };
	CK_OBJECT_HANDLE found[2] = { CK_INVALID_HANDLE, CK_INVALID_HANDLE };
	CK_ULONG count = 0;

	token_must(C_FindObjectsInit(session, wanted, 2), "C_FindObjectsInit");
	token_must(C_FindObjects(session, found, 2, &count), "C_FindObjects");
	token_must(C_FindObjectsFinal(session), "C_FindObjectsFinal");
	if (count != 1)
		bench_fail("C_FindObjects found %lu objects, not 1", count);
	return found[0];
}

static CK_MECHANISM signing(enum token_kind kind)
{
	static CK_RSA_PKCS_PSS_PARAMS pss = { CKM_SHA256, CKG_MGF1_SHA256, 32 };

	switch (kind) {
	case TOKEN_RSA2048:
		return (CK_MECHANISM){ CKM_SHA256_RSA_PKCS_PSS, &pss, sizeof(pss) };
	case TOKEN_HMAC:
		return (CK_MECHANISM){ CKM_SHA256_HMAC, NULL, 0 };
	default:
		return (CK_MECHANISM){ CKM_ECDSA, NULL, 0 };
	}
}

void token_sign(CK_SESSION_HANDLE session, const struct token_key *key, const uint8_t *message, size_t size,
		struct token_bytes *signature)
{
	CK_MECHANISM mechanism = signing(key->kind);

	signature->size = sizeof(signature->bytes);
	token_must(C_SignInit(session, &mechanism, key->private), "C_SignInit");
	token_must(C_Sign(session, (CK_BYTE_PTR)(uintptr_t)message, size, signature->bytes, &signature->size),
		   "C_Sign");
}

CK_RV token_verify(CK_SESSION_HANDLE session, const struct token_key *key, const uint8_t *message, size_t size,
		   const struct token_bytes *signature)
{
	CK_MECHANISM mechanism = signing(key->kind);

	token_must(C_VerifyInit(session, &mechanism, key->kind == TOKEN_HMAC ? key->private : key->public),
		   "C_VerifyInit");
	return C_Verify(session, (CK_BYTE_PTR)(uintptr_t)message, size, (CK_BYTE_PTR)(uintptr_t)signature->bytes,
			signature->size);
}

static CK_GCM_PARAMS gcm(uint8_t iv[TOKEN_IV_BYTES])
{
	return (CK_GCM_PARAMS){
		.pIv = iv,
		.ulIvLen = TOKEN_IV_BYTES,
		.ulIvBits = 8 * TOKEN_IV_BYTES,
		.ulTagBits = 8 * TOKEN_TAG_BYTES,
	};
}

void token_encrypt(CK_SESSION_HANDLE session, const struct token_key *key, uint8_t iv[TOKEN_IV_BYTES],
		   const uint8_t *message, size_t size, uint8_t *out)
{
	CK_GCM_PARAMS params = gcm(iv);
	CK_MECHANISM mechanism = { CKM_AES_GCM, &params, sizeof(params) };
	CK_ULONG sealed = size + TOKEN_TAG_BYTES;

	token_must(C_EncryptInit(session, &mechanism, key->private), "C_EncryptInit");
	token_must(C_Encrypt(session, (CK_BYTE_PTR)(uintptr_t)message, size, out, &sealed), "C_Encrypt");
	if (sealed != size + TOKEN_TAG_BYTES)
		bench_fail("C_Encrypt made %lu bytes of %zu", sealed, size);
}

CK_RV token_decrypt(CK_SESSION_HANDLE session, const struct token_key *key, uint8_t iv[TOKEN_IV_BYTES],
		    const uint8_t *sealed, size_t size, uint8_t *out)
{
	CK_GCM_PARAMS params = gcm(iv);
	CK_MECHANISM mechanism = { CKM_AES_GCM, &params, sizeof(params) };
	CK_ULONG opened = size;

	token_must(C_DecryptInit(session, &mechanism, key->private), "C_DecryptInit");
	return C_Decrypt(session, (CK_BYTE_PTR)(uintptr_t)sealed, size + TOKEN_TAG_BYTES, out, &opened);
}
