/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "wolfssl-pqc"
title = "wolfSSL"
about = "wolfSSL 5.9.4 in C, for speed: every matrix is expanded whole; polynomials on the heap"
licence = "GPL-2.0-or-later"
constant_time = "none: no claim known"
[source]
crate = "wolfssl-sys"
version = "5.3.0"
sha256 = "e04fb531435ec8ba1852ee9df66ab351cdb1e3aec1da4013787ae93efa3adac6"
[build]
sources = [
  "wolfssl-src/wolfcrypt/src/sha3.c", "wolfssl-src/wolfcrypt/src/wc_mlkem.c",
  "wolfssl-src/wolfcrypt/src/wc_mlkem_poly.c", "wolfssl-src/wolfcrypt/src/wc_mldsa.c"
]
include = ["wolfssl-src"]
defines = ["WOLFSSL_USER_SETTINGS"]
[build.curve.x25519-ml-kem-768]
sources = ["wolfssl-src/wolfcrypt/src/curve25519.c", "wolfssl-src/wolfcrypt/src/fe_operations.c"]
[build.curve.slh-dsa-sha2-128s]
sources = [
  "wolfssl-src/wolfcrypt/src/wc_slhdsa.c", "wolfssl-src/wolfcrypt/src/hmac.c",
  "wolfssl-src/wolfcrypt/src/sha256.c", "wolfssl-src/wolfcrypt/src/sha512.c"
]
[build.curve.slh-dsa-sha2-128f]
sources = [
  "wolfssl-src/wolfcrypt/src/wc_slhdsa.c", "wolfssl-src/wolfcrypt/src/hmac.c",
  "wolfssl-src/wolfcrypt/src/sha256.c", "wolfssl-src/wolfcrypt/src/sha512.c"
]
[build.curve.slh-dsa-shake-128f]
sources = ["wolfssl-src/wolfcrypt/src/wc_slhdsa.c"]
[operations]
ml-kem-512 = ["keygen", "encaps", "decaps"]
ml-kem-768 = ["keygen", "encaps", "decaps"]
ml-kem-1024 = ["keygen", "encaps", "decaps"]
ml-dsa-44 = ["keygen", "sign", "verify"]
ml-dsa-65 = ["keygen", "sign", "verify"]
ml-dsa-87 = ["keygen", "sign", "verify"]
slh-dsa-sha2-128s = ["keygen", "sign", "verify"]
slh-dsa-sha2-128f = ["keygen", "sign", "verify"]
slh-dsa-shake-128f = ["keygen", "sign", "verify"]
x25519-ml-kem-768 = ["keygen", "encaps", "decaps"]
# Of one call, rounded up to 256 bytes.
[memory]
ml-kem-512.keygen = { stack = 4032, heap = 3600 }
ml-kem-512.encaps = { stack = 3904, heap = 7184 }
ml-kem-512.decaps = { stack = 3968, heap = 7960 }
ml-kem-768.keygen = { stack = 4672, heap = 6672 }
ml-kem-768.encaps = { stack = 4736, heap = 11280 }
ml-kem-768.decaps = { stack = 4736, heap = 12376 }
ml-kem-1024.keygen = { stack = 5696, heap = 10768 }
ml-kem-1024.encaps = { stack = 5760, heap = 16400 }
ml-kem-1024.decaps = { stack = 5760, heap = 17976 }
ml-dsa-44.keygen = { stack = 4992, heap = 29528 }
ml-dsa-44.sign = { stack = 5184, heap = 51104 }
ml-dsa-44.verify = { stack = 5056, heap = 30552 }
ml-dsa-65.keygen = { stack = 7104, heap = 48984 }
ml-dsa-65.sign = { stack = 7296, heap = 78752 }
ml-dsa-65.verify = { stack = 7168, heap = 50008 }
ml-dsa-87.keygen = { stack = 8576, heap = 81752 }
ml-dsa-87.sign = { stack = 8768, heap = 122016 }
ml-dsa-87.verify = { stack = 8704, heap = 82776 }
slh-dsa-sha2-128s.keygen = { stack = 2816, heap = 0 }
slh-dsa-sha2-128s.sign = { stack = 3520, heap = 0 }
slh-dsa-sha2-128s.verify = { stack = 2816, heap = 0 }
slh-dsa-sha2-128f.keygen = { stack = 2752, heap = 0 }
slh-dsa-sha2-128f.sign = { stack = 3392, heap = 0 }
slh-dsa-sha2-128f.verify = { stack = 2816, heap = 0 }
slh-dsa-shake-128f.keygen = { stack = 2368, heap = 0 }
slh-dsa-shake-128f.sign = { stack = 3008, heap = 0 }
slh-dsa-shake-128f.verify = { stack = 2496, heap = 0 }
x25519-ml-kem-768.keygen = { stack = 4992, heap = 6672 }
x25519-ml-kem-768.encaps = { stack = 5248, heap = 11280 }
x25519-ml-kem-768.decaps = { stack = 5248, heap = 12376 }
*/
/* The library's key objects hold the keys in the clear and are made anew of bytes by every call. */
#include <wolfssl/wolfcrypt/settings.h>

#include <string.h>

#include <wolfssl/wolfcrypt/curve25519.h>
#include <wolfssl/wolfcrypt/error-crypt.h>
#include <wolfssl/wolfcrypt/wc_mldsa.h>
#include <wolfssl/wolfcrypt/wc_mlkem.h>
#include <wolfssl/wolfcrypt/wc_slhdsa.h>

#include "pqc.h"

#if defined(OPS_WOLFSSL_SMALL)
const char ops_name[] = "wolfssl-pqc-small";
#elif defined(OPS_WOLFSSL_ASM)
const char ops_name[] = "wolfssl-pqc-asm";
#else
const char ops_name[] = "wolfssl-pqc";
#endif /* OPS_WOLFSSL_... */

int ops_open(void)
{
	return 0;
}

#if PQC_IS_KEM

#if PQC_SCHEME == PQC_ML_KEM_512
#define TYPE WC_ML_KEM_512
#elif PQC_SCHEME == PQC_ML_KEM_1024
#define TYPE WC_ML_KEM_1024
#else
#define TYPE WC_ML_KEM_768
#endif /* PQC_SCHEME */

/* ML-KEM's part of what has X25519's behind it. */
#define OF_KEM(bytes) ((bytes) - PQC_X25519_BYTES)

#if PQC_X25519_BYTES
#define LOW_BITS 0x7f

static int share_of(const uint8_t scalar[PQC_X25519_BYTES], uint8_t share[PQC_X25519_BYTES])
{
	uint8_t clamped[PQC_X25519_BYTES];

	/* RFC 7748, section 5. */
	memcpy(clamped, scalar, sizeof(clamped));
	clamped[0] &= 0xf8;
	clamped[PQC_X25519_BYTES - 1] = (clamped[PQC_X25519_BYTES - 1] & LOW_BITS) | 0x40;
	return wc_curve25519_make_pub(PQC_X25519_BYTES, share, PQC_X25519_BYTES, clamped);
}

static int agree(const uint8_t scalar[PQC_X25519_BYTES], const uint8_t peer[PQC_X25519_BYTES],
		 uint8_t secret[PQC_X25519_BYTES])
{
	word32 length = PQC_X25519_BYTES;
	uint8_t masked[PQC_X25519_BYTES];
	curve25519_key own, other;
	int result = wc_curve25519_init(&own);

	if (result)
		return result;
	/* RFC 7748 wants the last bit ignored; the library refuses a point that has it. */
	memcpy(masked, peer, sizeof(masked));
	masked[PQC_X25519_BYTES - 1] &= LOW_BITS;
	result = wc_curve25519_init(&other);
	if (!result) {
		result = wc_curve25519_import_private_ex(scalar, PQC_X25519_BYTES, &own, EC25519_LITTLE_ENDIAN);
		if (!result)
			result = wc_curve25519_import_public_ex(masked, sizeof(masked), &other, EC25519_LITTLE_ENDIAN);
		if (!result)
			result = wc_curve25519_shared_secret_ex(&own, &other, secret, &length, EC25519_LITTLE_ENDIAN);
		wc_curve25519_free(&other);
	}
	wc_curve25519_free(&own);
	return result;
}
#endif /* PQC_X25519_BYTES */

int pqc_keygen(const uint8_t seed[PQC_SEED_BYTES], uint8_t private_key[PQC_PRIVATE_BYTES],
	       uint8_t public_key[PQC_PUBLIC_BYTES])
{
	MlKemKey key;
	int result = wc_MlKemKey_Init(&key, TYPE, NULL, INVALID_DEVID);

	if (result)
		return result;
	result = wc_MlKemKey_MakeKeyWithRandom(&key, seed, OF_KEM(PQC_SEED_BYTES));
	if (!result)
		result = wc_MlKemKey_EncodePrivateKey(&key, private_key, OF_KEM(PQC_PRIVATE_BYTES));
	if (!result)
		result = wc_MlKemKey_EncodePublicKey(&key, public_key, OF_KEM(PQC_PUBLIC_BYTES));
	(void)wc_MlKemKey_Free(&key);
#if PQC_X25519_BYTES
	memcpy(private_key + OF_KEM(PQC_PRIVATE_BYTES), seed + OF_KEM(PQC_SEED_BYTES), PQC_X25519_BYTES);
	if (!result)
		result = share_of(seed + OF_KEM(PQC_SEED_BYTES), public_key + OF_KEM(PQC_PUBLIC_BYTES));
#endif /* PQC_X25519_BYTES */
	return result;
}

int pqc_encaps(const uint8_t public_key[PQC_PUBLIC_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	       uint8_t ciphertext[PQC_OUTPUT_BYTES], uint8_t secret[PQC_SECRET_BYTES])
{
	MlKemKey key;
	int result = wc_MlKemKey_Init(&key, TYPE, NULL, INVALID_DEVID);

	if (result)
		return result;
	result = wc_MlKemKey_DecodePublicKey(&key, public_key, OF_KEM(PQC_PUBLIC_BYTES));
	if (!result)
		result = wc_MlKemKey_EncapsulateWithRandom(&key, ciphertext, secret, random, OF_KEM(PQC_RANDOM_BYTES));
	(void)wc_MlKemKey_Free(&key);
#if PQC_X25519_BYTES
	if (!result)
		result = share_of(random + OF_KEM(PQC_RANDOM_BYTES), ciphertext + OF_KEM(PQC_OUTPUT_BYTES));
	if (!result)
		result = agree(random + OF_KEM(PQC_RANDOM_BYTES), public_key + OF_KEM(PQC_PUBLIC_BYTES),
			       secret + OF_KEM(PQC_SECRET_BYTES));
#endif /* PQC_X25519_BYTES */
	return result;
}

int pqc_decaps(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t ciphertext[PQC_OUTPUT_BYTES],
	       uint8_t secret[PQC_SECRET_BYTES])
{
	MlKemKey key;
	int result = wc_MlKemKey_Init(&key, TYPE, NULL, INVALID_DEVID);

	if (result)
		return result;
	result = wc_MlKemKey_DecodePrivateKey(&key, private_key, OF_KEM(PQC_PRIVATE_BYTES));
	if (!result)
		result = wc_MlKemKey_Decapsulate(&key, secret, ciphertext, OF_KEM(PQC_OUTPUT_BYTES));
	(void)wc_MlKemKey_Free(&key);
#if PQC_X25519_BYTES
	if (!result)
		result = agree(private_key + OF_KEM(PQC_PRIVATE_BYTES), ciphertext + OF_KEM(PQC_OUTPUT_BYTES),
			       secret + OF_KEM(PQC_SECRET_BYTES));
#endif /* PQC_X25519_BYTES */
	return result;
}

#elif PQC_IS_SLH_DSA

#if PQC_SCHEME == PQC_SLH_DSA_SHA2_128S
#define PARAMETERS SLHDSA_SHA2_128S
#elif PQC_SCHEME == PQC_SLH_DSA_SHA2_128F
#define PARAMETERS SLHDSA_SHA2_128F
#else
#define PARAMETERS SLHDSA_SHAKE128F
#endif /* PQC_SCHEME */

/* Of each of a seed's three parts. */
#define PART_BYTES (PQC_SEED_BYTES / 3)

int pqc_keygen(const uint8_t seed[PQC_SEED_BYTES], uint8_t private_key[PQC_PRIVATE_BYTES],
	       uint8_t public_key[PQC_PUBLIC_BYTES])
{
	word32 private_length = PQC_PRIVATE_BYTES, public_length = PQC_PUBLIC_BYTES;
	SlhDsaKey key;
	int result = wc_SlhDsaKey_Init(&key, PARAMETERS, NULL, INVALID_DEVID);

	if (result)
		return result;
	result = wc_SlhDsaKey_MakeKeyWithRandom(&key, seed, PART_BYTES, seed + PART_BYTES, PART_BYTES,
						seed + 2 * PART_BYTES, PART_BYTES);
	if (!result)
		result = wc_SlhDsaKey_ExportPrivate(&key, private_key, &private_length);
	if (!result)
		result = wc_SlhDsaKey_ExportPublic(&key, public_key, &public_length);
	wc_SlhDsaKey_Free(&key);
	return result;
}

int pqc_sign(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	     const struct pqc_text *text, uint8_t signature[PQC_OUTPUT_BYTES])
{
	word32 signature_length = PQC_OUTPUT_BYTES;
	SlhDsaKey key;
	int result = wc_SlhDsaKey_Init(&key, PARAMETERS, NULL, INVALID_DEVID);

	if (result)
		return result;
	result = wc_SlhDsaKey_ImportPrivate(&key, private_key, PQC_PRIVATE_BYTES);
	if (!result)
		result = wc_SlhDsaKey_SignWithRandom(&key, text->context, text->context_length, text->message,
						     (word32)text->length, signature, &signature_length, random);
	wc_SlhDsaKey_Free(&key);
	return result;
}

int pqc_verify(const uint8_t public_key[PQC_PUBLIC_BYTES], const struct pqc_text *text,
	       const uint8_t signature[PQC_OUTPUT_BYTES])
{
	SlhDsaKey key;
	int result = wc_SlhDsaKey_Init(&key, PARAMETERS, NULL, INVALID_DEVID);

	if (result)
		return result;
	result = wc_SlhDsaKey_ImportPublic(&key, public_key, PQC_PUBLIC_BYTES);
	if (!result)
		result = wc_SlhDsaKey_Verify(&key, text->context, text->context_length, text->message,
					     (word32)text->length, signature, PQC_OUTPUT_BYTES);
	wc_SlhDsaKey_Free(&key);
	return result == WC_NO_ERR_TRACE(SIG_VERIFY_E) ? 1 : result;
}

#else

#if PQC_SCHEME == PQC_ML_DSA_44
#define LEVEL WC_ML_DSA_44
#elif PQC_SCHEME == PQC_ML_DSA_65
#define LEVEL WC_ML_DSA_65
#else
#define LEVEL WC_ML_DSA_87
#endif /* PQC_SCHEME */

static int open_key(wc_MlDsaKey *key)
{
	int result = wc_MlDsaKey_Init(key, NULL, INVALID_DEVID);

	return result ? result : wc_MlDsaKey_SetParams(key, LEVEL);
}

int pqc_keygen(const uint8_t seed[PQC_SEED_BYTES], uint8_t private_key[PQC_PRIVATE_BYTES],
	       uint8_t public_key[PQC_PUBLIC_BYTES])
{
	word32 private_length = PQC_PRIVATE_BYTES, public_length = PQC_PUBLIC_BYTES;
	wc_MlDsaKey key;
	int result = open_key(&key);

	if (result)
		return result;
	result = wc_MlDsaKey_MakeKeyFromSeed(&key, seed);
	if (!result)
		result = wc_MlDsaKey_ExportPrivRaw(&key, private_key, &private_length);
	if (!result)
		result = wc_MlDsaKey_ExportPubRaw(&key, public_key, &public_length);
	wc_MlDsaKey_Free(&key);
	return result;
}

int pqc_sign(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	     const struct pqc_text *text, uint8_t signature[PQC_OUTPUT_BYTES])
{
	word32 signature_length = PQC_OUTPUT_BYTES;
	wc_MlDsaKey key;
	int result = open_key(&key);

	if (result)
		return result;
	result = wc_MlDsaKey_ImportPrivRaw(&key, private_key, PQC_PRIVATE_BYTES);
	if (!result)
		result = wc_MlDsaKey_SignCtxWithSeed(&key, text->context, text->context_length, signature,
						     &signature_length, text->message, (word32)text->length, random);
	wc_MlDsaKey_Free(&key);
	return result;
}

int pqc_verify(const uint8_t public_key[PQC_PUBLIC_BYTES], const struct pqc_text *text,
	       const uint8_t signature[PQC_OUTPUT_BYTES])
{
	wc_MlDsaKey key;
	int valid = 0, result = open_key(&key);

	if (result)
		return result;
	result = wc_MlDsaKey_ImportPubRaw(&key, public_key, PQC_PUBLIC_BYTES);
	if (!result)
		result = wc_MlDsaKey_VerifyCtx(&key, signature, PQC_OUTPUT_BYTES, text->context, text->context_length,
					       text->message, (word32)text->length, &valid);
	wc_MlDsaKey_Free(&key);
	/* It has many names for what can be wrong with a signature; lack of memory is no such thing. */
	return result == MEMORY_E ? result : result || valid != 1;
}

#endif /* PQC_IS_KEM */
