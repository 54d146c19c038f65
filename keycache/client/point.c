/* SPDX-License-Identifier: BSD-2-Clause */
#include "point.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#define COORDINATE_BYTES 32
/* As OpenSSL has a point: a byte that says that x and y follow. */
#define UNCOMPRESSED 4
#define ENCODED_BYTES (1 + KEYCACHE_POINT_BYTES)
#define MOST_SIGNATURE 80

bool point_is_none(const uint8_t point[KEYCACHE_POINT_BYTES])
{
	uint8_t sum = 0;

	for (size_t i = 0; i < KEYCACHE_POINT_BYTES; i++)
		sum |= point[i];
	return !sum;
}

bool point_of_key(uint8_t point[KEYCACHE_POINT_BYTES], const EVP_PKEY *key)
{
	uint8_t encoded[ENCODED_BYTES];
	char group[32] = "";
	size_t size = 0;

	if (!EVP_PKEY_is_a(key, "EC") || EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) != 1 ||
	    strcmp(group, "prime256v1") != 0 ||
	    EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, encoded, sizeof(encoded), &size) != 1 ||
	    size != sizeof(encoded) || encoded[0] != UNCOMPRESSED)
		return false;
	memcpy(point, encoded + 1, KEYCACHE_POINT_BYTES);
	return true;
}

EVP_PKEY *point_to_key(const uint8_t point[KEYCACHE_POINT_BYTES])
{
	char group[] = "P-256";
	uint8_t encoded[ENCODED_BYTES] = { UNCOMPRESSED };
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
		OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, encoded, sizeof(encoded)),
		OSSL_PARAM_construct_end(),
	};
	EVP_PKEY *key = NULL;

	memcpy(encoded + 1, point, KEYCACHE_POINT_BYTES);
	if (!context || EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	ERR_clear_error();
	return key;
}

bool point_digest(uint8_t digest[DIGEST_BYTES], const uint8_t point[KEYCACHE_POINT_BYTES])
{
	return SHA256(point, KEYCACHE_POINT_BYTES, digest) != NULL;
}

void point_fingerprint(char text[FINGERPRINT_TEXT], const uint8_t point[KEYCACHE_POINT_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

	*text = 0;
	if (!point_digest(digest, point))
		return;
	for (size_t i = 0; i < sizeof(digest); i++)
		text += snprintf(text, 4, "%s%02x", i && i % 4 == 0 ? " " : "", digest[i]);
}

/* r and s, as DER has them, to 32 bytes each. */
bool point_sign(uint8_t signature[KEYCACHE_SIGNATURE_BYTES], EVP_PKEY *pair, const void *data, size_t size)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t der[MOST_SIGNATURE];
	const uint8_t *at = der;
	size_t der_size = sizeof(der);
	ECDSA_SIG *parts = NULL;
	bool good;

	good = context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, pair) == 1 &&
	       EVP_DigestSign(context, der, &der_size, data, size) == 1 &&
	       (parts = d2i_ECDSA_SIG(NULL, &at, (long)der_size)) != NULL &&
	       BN_bn2binpad(ECDSA_SIG_get0_r(parts), signature, COORDINATE_BYTES) == COORDINATE_BYTES &&
	       BN_bn2binpad(ECDSA_SIG_get0_s(parts), signature + COORDINATE_BYTES, COORDINATE_BYTES) ==
		       COORDINATE_BYTES;
	ECDSA_SIG_free(parts);
	EVP_MD_CTX_free(context);
	return good;
}

static bool agree_with(uint8_t secret[SECRET_BYTES], EVP_PKEY *pair, const uint8_t point[KEYCACHE_POINT_BYTES])
{
	EVP_PKEY *peer = point_to_key(point);
	EVP_PKEY_CTX *context = peer ? EVP_PKEY_CTX_new(pair, NULL) : NULL;
	size_t size = SECRET_BYTES;
	bool good = context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer) == 1 &&
		    EVP_PKEY_derive(context, secret, &size) == 1 && size == SECRET_BYTES;

	EVP_PKEY_CTX_free(context);
	EVP_PKEY_free(peer);
	return good;
}

bool point_agree(uint8_t key[SECRET_BYTES], EVP_PKEY *pair, const uint8_t first[KEYCACHE_POINT_BYTES],
		 const uint8_t *second, const void *info, size_t info_size)
{
	static const uint8_t counter[] = { 0, 0, 0, 1 };
	uint8_t secrets[2 * SECRET_BYTES];
	EVP_MD_CTX *hash = EVP_MD_CTX_new();
	size_t size = second ? sizeof(secrets) : SECRET_BYTES;
	bool good = hash && agree_with(secrets, pair, first) &&
		    (!second || agree_with(secrets + SECRET_BYTES, pair, second)) &&
		    EVP_DigestInit_ex2(hash, EVP_sha256(), NULL) == 1 &&
		    EVP_DigestUpdate(hash, counter, sizeof(counter)) == 1 &&
		    EVP_DigestUpdate(hash, secrets, size) == 1 && EVP_DigestUpdate(hash, info, info_size) == 1 &&
		    EVP_DigestFinal_ex(hash, key, NULL) == 1;

	OPENSSL_cleanse(secrets, sizeof(secrets));
	EVP_MD_CTX_free(hash);
	return good;
}

bool point_seal(const uint8_t key[SECRET_BYTES], const uint8_t nonce[KEYCACHE_NONCE_BYTES], const void *aad,
		size_t aad_size, const uint8_t plain[KEYCACHE_KEY_BYTES], uint8_t sealed[KEYCACHE_KEY_BYTES],
		uint8_t tag[KEYCACHE_TAG_BYTES])
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	int written = 0;
	bool good = context && EVP_EncryptInit_ex2(context, EVP_aes_256_gcm(), key, nonce, NULL) == 1 &&
		    EVP_EncryptUpdate(context, NULL, &written, aad, (int)aad_size) == 1 &&
		    EVP_EncryptUpdate(context, sealed, &written, plain, KEYCACHE_KEY_BYTES) == 1 &&
		    EVP_EncryptFinal_ex(context, sealed + written, &written) == 1 &&
		    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, KEYCACHE_TAG_BYTES, tag) == 1;

	EVP_CIPHER_CTX_free(context);
	return good;
}

/* `size` bytes of text, which are wiped if they are not authentic. */
static bool open_bytes(const uint8_t key[SECRET_BYTES], const uint8_t nonce[KEYCACHE_NONCE_BYTES], const void *aad,
		       size_t aad_size, const uint8_t *sealed, size_t size, const uint8_t tag[KEYCACHE_TAG_BYTES],
		       uint8_t *plain)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	uint8_t expected[KEYCACHE_TAG_BYTES];
	int written = 0;
	bool good;

	memcpy(expected, tag, sizeof(expected));
	good = context && EVP_DecryptInit_ex2(context, EVP_aes_256_gcm(), key, nonce, NULL) == 1 &&
	       EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, KEYCACHE_TAG_BYTES, expected) == 1 &&
	       EVP_DecryptUpdate(context, NULL, &written, aad, (int)aad_size) == 1 &&
	       EVP_DecryptUpdate(context, plain, &written, sealed, (int)size) == 1 &&
	       EVP_DecryptFinal_ex(context, plain + size, &written) == 1;
	if (!good)
		OPENSSL_cleanse(plain, size);
	EVP_CIPHER_CTX_free(context);
	return good;
}

bool point_open(const uint8_t key[SECRET_BYTES], const uint8_t nonce[KEYCACHE_NONCE_BYTES], const void *aad,
		size_t aad_size, const uint8_t sealed[KEYCACHE_KEY_BYTES], const uint8_t tag[KEYCACHE_TAG_BYTES],
		uint8_t plain[KEYCACHE_KEY_BYTES])
{
	return open_bytes(key, nonce, aad, aad_size, sealed, KEYCACHE_KEY_BYTES, tag, plain);
}

bool point_is_marked(const uint8_t key[SECRET_BYTES], const void *aad, size_t aad_size,
		     const uint8_t tag[KEYCACHE_TAG_BYTES])
{
	uint8_t nonce[KEYCACHE_NONCE_BYTES];
	uint8_t nothing = 0;

	memset(nonce, 255, sizeof(nonce));
	return open_bytes(key, nonce, aad, aad_size, &nothing, 0, tag, &nothing);
}
