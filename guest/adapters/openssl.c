/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "openssl"
title = "OpenSSL"
about = "Debian's archive, by EVP with EVP_PKEY objects kept; code chosen by the CPU's features; random nonces"
licence = "Apache-2.0"
constant_time = "limited: attacks from the same machine are out of scope, its security policy"
[source]
packages = ["libssl-dev", "libzstd-dev", "zlib1g-dev"]
[build]
archives = ["libcrypto.a", "libz.a", "libzstd.a"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
secp384r1 = ["keygen", "sign", "verify", "ecdh"]
secp256k1 = ["keygen", "sign", "verify", "ecdh"]
secp112r1 = ["keygen", "sign", "verify", "ecdh"]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
none = ["sha256", "sha512", "aes128", "aes256"]
[needs]
linux = true
*/
/*
 * Only these calls are compiled here, whatever the optimisation.
 *
 * A program that uses EVP makes an EVP_PKEY of a key once and keeps it. So does this file, since what it gets are bytes:
 * it remembers the keys of its last calls, the program's own (which key generation makes) and those that signatures are
 * verified with, and finds them by comparing bytes. The first call with a key makes the object and is longer. An object
 * for every call would add 14 % (Armv7) or 41 % (Armv8) to a P-256 signature, and double one of Ed25519, since the library
 * derives the public key. The peer's key of an agreement is new to every call, as in TLS, and its object is made, and its
 * point checked, by every call. Hashes and ciphers are fetched once, as the library's manual advises.
 *
 * The archive asks for zlib and zstd, which compress certificates in TLS; no call here gets there.
 *
 * Random bytes are the frame's. The library's own generator (CTR_DRBG) would add some thousands of instructions to what
 * takes random bytes, and other bytes to every run.
 */
#define OPENSSL_SUPPRESS_DEPRECATED /* RAND_METHOD, the one way to another generator that takes no provider */

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>

#include <limits.h>
#include <string.h>

#include "ops.h"

#define FAILED (-1) /* what went wrong is in the library's queue of errors */

const char ops_name[] = "openssl";

static int random_bytes(unsigned char *bytes, int length)
{
	ops_random(bytes, (size_t)length);
	return 1;
}

static int random_status(void)
{
	return 1;
}

static int open_random(void)
{
	static const RAND_METHOD frame_random = { .bytes = random_bytes,
						  .pseudorand = random_bytes,
						  .status = random_status };

	return RAND_set_rand_method(&frame_random) == 1 ? 0 : FAILED;
}

#if OPS_CURVE != OPS_CURVE_NONE

#if OPS_CURVE == OPS_CURVE_SECP256R1
#define CURVE "P-256"
#elif OPS_CURVE == OPS_CURVE_SECP384R1
#define CURVE "P-384"
#elif OPS_CURVE == OPS_CURVE_SECP256K1
#define CURVE "secp256k1"
#elif OPS_CURVE == OPS_CURVE_ED25519
#define CURVE "ED25519"
#elif OPS_CURVE == OPS_CURVE_X25519
#define CURVE "X25519"
#elif defined(OPS_CURVE_SECP112R1)
#define CURVE "secp112r1"
#else
#error "OpenSSL has no such curve here"
#endif /* OPS_CURVE */

#define MOST_KEPT 2

/* Objects made of keys, the latest ones. */
struct kept {
	struct {
		uint8_t octets[OPS_PUBLIC_BYTES];
		EVP_PKEY *key;
	} keys[MOST_KEPT];
	unsigned int next;
};

static struct kept own;

static void keep(struct kept *kept, const uint8_t *octets, size_t length, EVP_PKEY *key)
{
	EVP_PKEY_free(kept->keys[kept->next].key);
	memcpy(kept->keys[kept->next].octets, octets, length);
	kept->keys[kept->next].key = key;
	kept->next = (kept->next + 1) % MOST_KEPT;
}

static EVP_PKEY *find(const struct kept *kept, const uint8_t *octets, size_t length)
{
	for (unsigned int i = 0; i < MOST_KEPT; i++)
		if (kept->keys[i].key && !memcmp(kept->keys[i].octets, octets, length))
			return kept->keys[i].key;
	return NULL;
}

int ops_open(void)
{
	return open_random();
}

#if OPS_CURVE == OPS_CURVE_ED25519 || OPS_CURVE == OPS_CURVE_X25519

static EVP_PKEY *import_private(const uint8_t private_key[OPS_PRIVATE_BYTES])
{
	return EVP_PKEY_new_raw_private_key_ex(NULL, CURVE, NULL, private_key, OPS_PRIVATE_BYTES);
}

static EVP_PKEY *import_public(const uint8_t public_key[OPS_PUBLIC_BYTES])
{
	return EVP_PKEY_new_raw_public_key_ex(NULL, CURVE, NULL, public_key, OPS_PUBLIC_BYTES);
}

static EVP_PKEY *generate(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	size_t private_length = OPS_PRIVATE_BYTES, public_length = OPS_PUBLIC_BYTES;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, CURVE);

	if (key && EVP_PKEY_get_raw_private_key(key, private_key, &private_length) == 1 &&
	    EVP_PKEY_get_raw_public_key(key, public_key, &public_length) == 1)
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

#else

#define POINT_BYTES (1 + OPS_PUBLIC_BYTES)

/* The library's points have SEC 1's first byte, 4 for an uncompressed one. `number` is the private key or NULL. */
static EVP_PKEY *import(const BIGNUM *number, const uint8_t *public_key)
{
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	uint8_t point[POINT_BYTES] = { 4 };
	OSSL_PARAM *parameters = NULL;
	EVP_PKEY *key = NULL;
	int good = builder && context && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, CURVE, 0);

	if (good && public_key) {
		memcpy(point + 1, public_key, OPS_PUBLIC_BYTES);
		good = OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point));
	}
	if (good && number)
		good = OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number);
	if (good)
		parameters = OSSL_PARAM_BLD_to_param(builder);
	if (parameters && EVP_PKEY_fromdata_init(context) == 1 &&
	    EVP_PKEY_fromdata(context, &key, number ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, parameters) != 1)
		key = NULL;
	OSSL_PARAM_free(parameters);
	EVP_PKEY_CTX_free(context);
	OSSL_PARAM_BLD_free(builder);
	return key;
}

static EVP_PKEY *import_private(const uint8_t private_key[OPS_PRIVATE_BYTES])
{
	BIGNUM *number = BN_secure_new();
	EVP_PKEY *key = NULL;

	if (number && BN_bin2bn(private_key, OPS_PRIVATE_BYTES, number))
		key = import(number, NULL);
	BN_clear_free(number);
	return key;
}

static EVP_PKEY *import_public(const uint8_t public_key[OPS_PUBLIC_BYTES])
{
	return import(NULL, public_key);
}

static EVP_PKEY *generate(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", CURVE);
	uint8_t point[POINT_BYTES];
	BIGNUM *number = NULL;
	size_t written;
	int good = key && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1 &&
		   BN_bn2binpad(number, private_key, OPS_PRIVATE_BYTES) == OPS_PRIVATE_BYTES &&
		   EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &written) == 1 &&
		   written == sizeof(point);

	BN_clear_free(number);
	if (good) {
		memcpy(public_key, point + 1, OPS_PUBLIC_BYTES);
		return key;
	}
	EVP_PKEY_free(key);
	return NULL;
}

#endif /* OPS_CURVE_ED25519 or OPS_CURVE_X25519 */

static EVP_PKEY *own_key(const uint8_t private_key[OPS_PRIVATE_BYTES])
{
	EVP_PKEY *key = find(&own, private_key, OPS_PRIVATE_BYTES);

	if (!key) {
		key = import_private(private_key);
		if (key)
			keep(&own, private_key, OPS_PRIVATE_BYTES, key);
	}
	return key;
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	EVP_PKEY *key = generate(private_key, public_key);

	if (!key)
		return FAILED;
	keep(&own, private_key, OPS_PRIVATE_BYTES, key);
	return 0;
}

#endif /* OPS_CURVE_NONE */

#if OPS_CURVE != OPS_CURVE_NONE && OPS_CURVE != OPS_CURVE_X25519

static struct kept others;

#if OPS_CURVE == OPS_CURVE_ED25519

#define DIGEST NULL

/* Both as the library has them. */
static size_t encode(const uint8_t signature[OPS_SIGNATURE_BYTES], uint8_t *encoded, size_t room)
{
	(void)room;
	memcpy(encoded, signature, OPS_SIGNATURE_BYTES);
	return OPS_SIGNATURE_BYTES;
}

static int decode(const uint8_t *encoded, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	memcpy(signature, encoded, length);
	return length == OPS_SIGNATURE_BYTES;
}

#else

#define DIGEST "SHA256"

/* The library's signatures are in DER. Returns the length, 0 if there is no memory. */
static size_t encode(const uint8_t signature[OPS_SIGNATURE_BYTES], uint8_t *encoded, size_t room)
{
	BIGNUM *r = BN_bin2bn(signature, OPS_ORDER_BYTES, NULL);
	BIGNUM *s = BN_bin2bn(signature + OPS_ORDER_BYTES, OPS_ORDER_BYTES, NULL);
	ECDSA_SIG *pair = ECDSA_SIG_new();
	int length = 0;

	if (r && s && pair && ECDSA_SIG_set0(pair, r, s) == 1) {
		length = i2d_ECDSA_SIG(pair, NULL);
		if (length > 0 && (size_t)length <= room)
			length = i2d_ECDSA_SIG(pair, &encoded);
		else
			length = 0;
	} else {
		BN_free(s);
		BN_free(r);
	}
	ECDSA_SIG_free(pair);
	return length > 0 ? (size_t)length : 0;
}

static int decode(const uint8_t *encoded, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &encoded, (long)length);
	int good = pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), signature, OPS_ORDER_BYTES) == OPS_ORDER_BYTES &&
		   BN_bn2binpad(ECDSA_SIG_get0_s(pair), signature + OPS_ORDER_BYTES, OPS_ORDER_BYTES) ==
			   OPS_ORDER_BYTES;

	ECDSA_SIG_free(pair);
	return good;
}

#endif /* OPS_CURVE_ED25519 */

#define MOST_ENCODED (OPS_SIGNATURE_BYTES + 16) /* DER adds less than that to r and s of up to 55 bytes */

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	EVP_PKEY *key = own_key(private_key);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t encoded[MOST_ENCODED];
	size_t encoded_length = sizeof(encoded);
	int good = key && context && EVP_DigestSignInit_ex(context, NULL, DIGEST, NULL, NULL, key, NULL) == 1 &&
		   EVP_DigestSign(context, encoded, &encoded_length, message, length) == 1 &&
		   decode(encoded, encoded_length, signature);

	(void)public_key;
	EVP_MD_CTX_free(context);
	return good ? 0 : FAILED;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	EVP_PKEY *key = find(&others, public_key, OPS_PUBLIC_BYTES);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t encoded[MOST_ENCODED];
	size_t encoded_length = encode(signature, encoded, sizeof(encoded));
	int valid = 0;

	if (!key) {
		key = import_public(public_key);
		if (key)
			keep(&others, public_key, OPS_PUBLIC_BYTES, key);
	}
	if (key && context && encoded_length &&
	    EVP_DigestVerifyInit_ex(context, NULL, DIGEST, NULL, NULL, key, NULL) == 1)
		valid = EVP_DigestVerify(context, encoded, encoded_length, message, length) == 1;
	EVP_MD_CTX_free(context);
	return valid ? 0 : 1;
}

#endif /* curves with signatures */

#if OPS_CURVE != OPS_CURVE_NONE && OPS_CURVE != OPS_CURVE_ED25519

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	EVP_PKEY *key = own_key(private_key);
	EVP_PKEY *other = import_public(peer);
	EVP_PKEY_CTX *context = key ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
	size_t length = OPS_SECRET_BYTES;
	int good = other && context && EVP_PKEY_derive_init(context) == 1 &&
		   EVP_PKEY_derive_set_peer(context, other) == 1 && EVP_PKEY_derive(context, secret, &length) == 1 &&
		   length == OPS_SECRET_BYTES;

	EVP_PKEY_CTX_free(context);
	EVP_PKEY_free(other);
	return good ? 0 : FAILED;
}

#endif /* curves with an agreement */

#if OPS_CURVE == OPS_CURVE_NONE

#define AES128_KEY_BYTES 16

static EVP_MD *sha256, *sha512;
static EVP_CIPHER *aes128, *aes256;

int ops_open(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	sha512 = EVP_MD_fetch(NULL, "SHA512", NULL);
	aes128 = EVP_CIPHER_fetch(NULL, "AES-128-CTR", NULL);
	aes256 = EVP_CIPHER_fetch(NULL, "AES-256-CTR", NULL);
	return sha256 && sha512 && aes128 && aes256 ? open_random() : FAILED;
}

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	return EVP_Digest(message, length, digest, NULL, sha256, NULL) == 1 ? 0 : FAILED;
}

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	return EVP_Digest(message, length, digest, NULL, sha512, NULL) == 1 ? 0 : FAILED;
}

int ops_aes_ctr(const uint8_t *key, size_t key_bytes, const uint8_t counter[16], const uint8_t *input, size_t length,
		uint8_t *output)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	int written, rest;
	int good = context && length <= INT_MAX &&
		   EVP_EncryptInit_ex2(context, key_bytes == AES128_KEY_BYTES ? aes128 : aes256, key, counter, NULL) ==
			   1 &&
		   EVP_EncryptUpdate(context, output, &written, input, (int)length) == 1 &&
		   EVP_EncryptFinal_ex(context, output + written, &rest) == 1;

	EVP_CIPHER_CTX_free(context);
	return good ? 0 : FAILED;
}

#endif /* OPS_CURVE_NONE */
