/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl"
title = "wolfSSL"
about = "C only, as its template for embedded targets: SP math (small, a P-256 of its own), small stack, random nonces"
licence = "GPL-3.0-or-later"
constant_time = "resistant: ECC_TIMING_RESISTANT, its settings"
[source]
debian = "wolfssl"
[build]
sources = ["wolfcrypt/src/wc_port.c", "wolfcrypt/src/random.c", "wolfcrypt/src/hash.c"]
include = ["."]
defines = ["WOLFSSL_USER_SETTINGS"]
[build.curve.secp160r1]
sources = ["wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c"]
[build.curve.secp192r1]
sources = ["wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c"]
[build.curve.secp224r1]
sources = ["wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c"]
[build.curve.secp256r1]
sources = [
  "wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c",
  "wolfcrypt/src/sp_c32.c"
]
[build.curve.secp384r1]
sources = ["wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c"]
[build.curve.secp256k1]
sources = ["wolfcrypt/src/ecc.c", "wolfcrypt/src/sp_int.c", "wolfcrypt/src/wolfmath.c", "wolfcrypt/src/sha256.c"]
[build.curve.ed25519]
sources = [
  "wolfcrypt/src/ed25519.c", "wolfcrypt/src/fe_operations.c", "wolfcrypt/src/ge_operations.c", "wolfcrypt/src/sha512.c"
]
[build.curve.x25519]
sources = ["wolfcrypt/src/curve25519.c", "wolfcrypt/src/fe_operations.c"]
[build.curve.none]
sources = ["wolfcrypt/src/sha256.c", "wolfcrypt/src/sha512.c", "wolfcrypt/src/aes.c"]
# Words of 64 bits. A TA has no strcasecmp(): wolfSSL's own in both worlds. OP-TEE's headers make `fallthrough` a macro.
[build.core.cortex-a72]
sources = ["wolfcrypt/src/sp_c64.c"]
defines = [
  "HAVE___UINT128_T=1", "USE_WOLF_STRCASECMP", "XSTRCASECMP=wc_strcasecmp", "USE_WOLF_STRNCASECMP",
  "XSTRNCASECMP=wc_strncasecmp", "FALL_THROUGH="
]
[operations]
secp160r1 = ["keygen", "sign", "verify", "ecdh"]
secp192r1 = ["keygen", "sign", "verify", "ecdh"]
secp224r1 = ["keygen", "sign", "verify", "ecdh"]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
secp384r1 = ["keygen", "sign", "verify", "ecdh"]
secp256k1 = ["keygen", "sign", "verify", "ecdh"]
ed25519 = ["keygen", "sign", "verify"]
x25519 = ["keygen", "ecdh"]
none = ["sha256", "sha512", "aes128", "aes256"]
*/
/*
 * Every call reads its keys from bytes and makes the library's handle of a generator, which is empty here (see
 * wolfssl_config.h), so that an operation pulls in nothing that it does not need.
 */
#include <string.h>

#include <wolfssl/wolfcrypt/settings.h>

#include <wolfssl/wolfcrypt/aes.h>
#include <wolfssl/wolfcrypt/curve25519.h>
#include <wolfssl/wolfcrypt/ecc.h>
#include <wolfssl/wolfcrypt/ed25519.h>
#include <wolfssl/wolfcrypt/error-crypt.h>
#include <wolfssl/wolfcrypt/random.h>
#include <wolfssl/wolfcrypt/sha256.h>
#include <wolfssl/wolfcrypt/sha512.h>

#include "ops.h"

#if defined(OPS_WOLFSSL_SMALL)
const char ops_name[] = "wolfssl-small";
#elif defined(OPS_WOLFSSL_SP)
const char ops_name[] = "wolfssl-sp";
#elif defined(OPS_WOLFSSL_FAST)
const char ops_name[] = "wolfssl-fast";
#else
const char ops_name[] = "wolfssl";
#endif /* OPS_WOLFSSL_SMALL */

int ops_open(void)
{
	return 0;
}

#if OPS_CURVE == OPS_CURVE_ED25519

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	word32 private_length = OPS_PRIVATE_BYTES, public_length = OPS_PUBLIC_BYTES;
	ed25519_key key;
	WC_RNG generator;
	int result = wc_InitRng(&generator);

	if (result)
		return result;
	result = wc_ed25519_init(&key);
	if (!result) {
		result = wc_ed25519_make_key(&generator, ED25519_KEY_SIZE, &key);
		if (!result)
			result = wc_ed25519_export_private_only(&key, private_key, &private_length);
		if (!result)
			result = wc_ed25519_export_public(&key, public_key, &public_length);
		wc_ed25519_free(&key);
	}
	(void)wc_FreeRng(&generator);
	return result;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	word32 signature_length = OPS_SIGNATURE_BYTES;
	ed25519_key key;
	int result = wc_ed25519_init(&key);

	if (result)
		return result;
	/* The last argument: the pair is trusted, as the device's own is; else the library derives the public key. */
	result = wc_ed25519_import_private_key_ex(private_key, OPS_PRIVATE_BYTES, public_key, OPS_PUBLIC_BYTES, &key,
						  1);
	if (!result)
		result = wc_ed25519_sign_msg(message, (word32)length, signature, &signature_length, &key);
	wc_ed25519_free(&key);
	return result;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	ed25519_key key;
	int valid = 0, result = wc_ed25519_init(&key);

	if (result)
		return result;
	result = wc_ed25519_import_public(public_key, OPS_PUBLIC_BYTES, &key);
	if (!result)
		result = wc_ed25519_verify_msg(signature, OPS_SIGNATURE_BYTES, message, (word32)length, &valid, &key);
	wc_ed25519_free(&key);
	/* It has many names for what can be wrong with a key or a signature; lack of memory is no such thing. */
	return result == MEMORY_E ? result : result || valid != 1;
}

#elif OPS_CURVE == OPS_CURVE_X25519

#define LOW_BITS 0x7F

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	word32 private_length = OPS_PRIVATE_BYTES, public_length = OPS_PUBLIC_BYTES;
	curve25519_key key;
	WC_RNG generator;
	int result = wc_InitRng(&generator);

	if (result)
		return result;
	result = wc_curve25519_init(&key);
	if (!result) {
		result = wc_curve25519_make_key(&generator, CURVE25519_KEYSIZE, &key);
		if (!result)
			result = wc_curve25519_export_private_raw_ex(&key, private_key, &private_length,
								     EC25519_LITTLE_ENDIAN);
		if (!result)
			result = wc_curve25519_export_public_ex(&key, public_key, &public_length,
								EC25519_LITTLE_ENDIAN);
		wc_curve25519_free(&key);
	}
	(void)wc_FreeRng(&generator);
	return result;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	word32 secret_length = OPS_SECRET_BYTES;
	uint8_t masked[OPS_PUBLIC_BYTES];
	curve25519_key own, other;
	int result = wc_curve25519_init(&own);

	if (result)
		return result;
	/* RFC 7748 wants the last bit ignored; the library refuses a point that has it. */
	memcpy(masked, peer, sizeof(masked));
	masked[OPS_PUBLIC_BYTES - 1] &= LOW_BITS;
	result = wc_curve25519_init(&other);
	if (!result) {
		result = wc_curve25519_import_private_ex(private_key, OPS_PRIVATE_BYTES, &own, EC25519_LITTLE_ENDIAN);
		if (!result)
			result = wc_curve25519_import_public_ex(masked, sizeof(masked), &other, EC25519_LITTLE_ENDIAN);
		if (!result)
			result = wc_curve25519_shared_secret_ex(&own, &other, secret, &secret_length,
								EC25519_LITTLE_ENDIAN);
		wc_curve25519_free(&other);
	}
	wc_curve25519_free(&own);
	return result;
}

#elif OPS_CURVE != OPS_CURVE_NONE

#if OPS_CURVE == OPS_CURVE_SECP160R1
#define CURVE ECC_SECP160R1
#elif OPS_CURVE == OPS_CURVE_SECP192R1
#define CURVE ECC_SECP192R1
#elif OPS_CURVE == OPS_CURVE_SECP224R1
#define CURVE ECC_SECP224R1
#elif OPS_CURVE == OPS_CURVE_SECP256R1
#define CURVE ECC_SECP256R1
#elif OPS_CURVE == OPS_CURVE_SECP384R1
#define CURVE ECC_SECP384R1
#elif OPS_CURVE == OPS_CURVE_SECP256K1
#define CURVE ECC_SECP256K1
#endif /* OPS_CURVE */

static int hash(const uint8_t *message, size_t length, uint8_t digest[WC_SHA256_DIGEST_SIZE])
{
	wc_Sha256 context;
	int result = wc_InitSha256(&context);

	if (!result)
		result = wc_Sha256Update(&context, message, (word32)length);
	if (!result)
		result = wc_Sha256Final(&context, digest);
	wc_Sha256Free(&context);
	return result;
}

/*
 * A public key, and whether it is a point of the curve. Neither importing nor verifying nor ECDH looks at that by
 * itself, and wc_ecc_check_key() multiplies by the order too, which these curves do not need: their cofactor is 1.
 */
static int import_public(ecc_key *key, const uint8_t public_key[OPS_PUBLIC_BYTES])
{
	mp_int prime, a, b;
	int result = wc_ecc_import_unsigned(key, public_key, public_key + OPS_BYTES, NULL, CURVE);

	if (!result)
		result = mp_init_multi(&prime, &a, &b, NULL, NULL, NULL);
	if (!result)
		result = mp_read_radix(&prime, key->dp->prime, MP_RADIX_HEX);
	if (!result)
		result = mp_read_radix(&a, key->dp->Af, MP_RADIX_HEX);
	if (!result)
		result = mp_read_radix(&b, key->dp->Bf, MP_RADIX_HEX);
	if (!result)
		result = wc_ecc_is_point(&key->pubkey, &a, &b, &prime);
	return result;
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	word32 x_length = OPS_BYTES, y_length = OPS_BYTES;
	WC_RNG generator;
	ecc_key key;
	int result = wc_InitRng(&generator);

	if (result)
		return result;
	result = wc_ecc_init(&key);
	if (!result) {
		result = wc_ecc_make_key_ex(&generator, OPS_BYTES, &key, CURVE);
		if (!result)
			result = mp_to_unsigned_bin_len(wc_ecc_key_get_priv(&key), private_key, OPS_PRIVATE_BYTES);
		if (!result)
			result = wc_ecc_export_public_raw(&key, public_key, &x_length, public_key + OPS_BYTES,
							  &y_length);
		(void)wc_ecc_free(&key);
	}
	(void)wc_FreeRng(&generator);
	return result;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[WC_SHA256_DIGEST_SIZE];
	WC_RNG generator;
	ecc_key key;
	mp_int r, s;
	int result = wc_InitRng(&generator);

	(void)public_key;
	if (result)
		return result;
	result = wc_ecc_init(&key);
	if (!result) {
		result = hash(message, length, digest);
		if (!result)
			result = wc_ecc_import_private_key_ex(private_key, OPS_PRIVATE_BYTES, NULL, 0, &key, CURVE);
		if (!result)
			result = mp_init_multi(&r, &s, NULL, NULL, NULL, NULL);
		if (!result)
			result = wc_ecc_sign_hash_ex(digest, sizeof(digest), &generator, &key, &r, &s);
		if (!result)
			result = mp_to_unsigned_bin_len(&r, signature, OPS_ORDER_BYTES);
		if (!result)
			result = mp_to_unsigned_bin_len(&s, signature + OPS_ORDER_BYTES, OPS_ORDER_BYTES);
		(void)wc_ecc_free(&key);
	}
	(void)wc_FreeRng(&generator);
	return result;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	uint8_t digest[WC_SHA256_DIGEST_SIZE];
	ecc_key key;
	mp_int r, s;
	int valid = 0, result = wc_ecc_init(&key);

	if (result)
		return result;
	result = hash(message, length, digest);
	if (!result)
		result = import_public(&key, public_key);
	if (!result)
		result = mp_init_multi(&r, &s, NULL, NULL, NULL, NULL);
	if (!result)
		result = mp_read_unsigned_bin(&r, signature, OPS_ORDER_BYTES);
	if (!result)
		result = mp_read_unsigned_bin(&s, signature + OPS_ORDER_BYTES, OPS_ORDER_BYTES);
	if (!result)
		result = wc_ecc_verify_hash_ex(&r, &s, digest, sizeof(digest), &valid, &key);
	(void)wc_ecc_free(&key);
	/* It has many names for what can be wrong with a key or a signature; lack of memory is no such thing. */
	return result == MEMORY_E || result == MP_MEM ? result : result || valid != 1;
}

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	word32 secret_length = OPS_SECRET_BYTES;
	WC_RNG generator;
	ecc_key own, other;
	int result = wc_InitRng(&generator);

	if (result)
		return result;
	result = wc_ecc_init(&own);
	if (!result) {
		result = wc_ecc_init(&other);
		if (!result) {
			result = import_public(&other, peer);
			if (!result)
				result = wc_ecc_import_private_key_ex(private_key, OPS_PRIVATE_BYTES, NULL, 0, &own,
								      CURVE);
			/* ECC_TIMING_RESISTANT: the multiplication is blinded with random coordinates. */
			if (!result)
				result = wc_ecc_set_rng(&own, &generator);
			if (!result)
				result = wc_ecc_shared_secret(&own, &other, secret, &secret_length);
			(void)wc_ecc_free(&other);
		}
		(void)wc_ecc_free(&own);
	}
	(void)wc_FreeRng(&generator);
	return result;
}

#else

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	wc_Sha256 context;
	int result = wc_InitSha256(&context);

	if (!result)
		result = wc_Sha256Update(&context, message, (word32)length);
	if (!result)
		result = wc_Sha256Final(&context, digest);
	wc_Sha256Free(&context);
	return result;
}

int ops_sha512(const uint8_t *message, size_t length, uint8_t digest[64])
{
	wc_Sha512 context;
	int result = wc_InitSha512(&context);

	if (!result)
		result = wc_Sha512Update(&context, message, (word32)length);
	if (!result)
		result = wc_Sha512Final(&context, digest);
	wc_Sha512Free(&context);
	return result;
}

int ops_aes_ctr(const uint8_t *key, size_t key_bytes, const uint8_t counter[16], const uint8_t *input, size_t length,
		uint8_t *output)
{
	Aes context;
	int result = wc_AesInit(&context, NULL, INVALID_DEVID);

	if (!result)
		result = wc_AesSetKey(&context, key, (word32)key_bytes, counter, AES_ENCRYPTION);
	if (!result)
		result = wc_AesCtrEncrypt(&context, output, input, (word32)length);
	wc_AesFree(&context);
	return result;
}

#endif /* OPS_CURVE */
