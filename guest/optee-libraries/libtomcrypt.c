/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OP-TEE's libtomcrypt (on the big numbers of its mbed TLS) called directly, from Linux user space. The calls, and the
 * order of them, are those OP-TEE's core makes for a TA (its core/lib/libtomcrypt/ecc.c): the curve is set and the key
 * copied for every operation. Nonces come from the operating system.
 */
#include <string.h>

#include <tomcrypt_private.h>

#include <tomcrypt_mp.h>

#include "attest.h"
#include "entropy.h"

#define DIGEST_BYTES 32

static void *d;
static void *x;
static void *y;
static int prng;

static int nothing(prng_state *state)
{
	(void)state;
	return CRYPT_OK;
}

static unsigned long read_random(unsigned char *out, unsigned long length, prng_state *state)
{
	(void)state;
	return entropy_read(out, length) ? 0 : length;
}

static const struct ltc_prng_descriptor system_prng = {
	.name = "system",
	.start = nothing,
	.ready = nothing,
	.read = read_random,
	.done = nothing,
};

/* The library's results are positive; the interface wants failures negative. */
static int failure(int result)
{
	return result == CRYPT_OK ? 0 : -result;
}

static int open_ops(struct attest_ops *ops)
{
	(void)ops;
	init_mp_tomcrypt();
	if (register_hash(&sha256_desc) < 0)
		return -1;
	prng = register_prng(&system_prng);
	if (prng < 0)
		return -1;
	return failure(mp_init_multi(&d, &x, &y, NULL));
}

static void close_ops(void)
{
	mp_clear_multi(d, x, y, NULL);
}

static int write_number(void *number, uint8_t out[P256_BYTES])
{
	unsigned long size = mp_unsigned_bin_size(number);

	if (size > P256_BYTES)
		return CRYPT_BUFFER_OVERFLOW;
	memset(out, 0, P256_BYTES);
	return mp_to_unsigned_bin(number, out + P256_BYTES - size);
}

static int set_curve(ecc_key *key)
{
	const ltc_ecc_curve *curve = NULL;
	int result = ecc_find_curve("NISTP256", &curve);

	memset(key, 0, sizeof(*key));
	return result == CRYPT_OK ? ecc_set_curve(curve, key) : result;
}

static int keygen(struct bench_span *inner)
{
	ecc_key key;
	int result = set_curve(&key);

	(void)inner;
	if (result != CRYPT_OK)
		return failure(result);
	result = ecc_generate_key(NULL, prng, &key);
	if (result == CRYPT_OK)
		result = mp_copy(key.k, d);
	if (result == CRYPT_OK)
		result = mp_copy(key.pubkey.x, x);
	if (result == CRYPT_OK)
		result = mp_copy(key.pubkey.y, y);
	ecc_free(&key);
	return failure(result);
}

static int export_key(uint8_t public_key[2 * P256_BYTES], uint8_t private_key[P256_BYTES])
{
	int result = write_number(x, public_key);

	if (result == CRYPT_OK)
		result = write_number(y, public_key + P256_BYTES);
	if (result == CRYPT_OK)
		result = write_number(d, private_key);
	return failure(result);
}

/* The current key as the library wants it; `type` is PK_PRIVATE or PK_PUBLIC. */
static int load_key(ecc_key *key, int type)
{
	int result = set_curve(key);

	if (result != CRYPT_OK)
		return result;
	key->type = type;
	result = mp_copy(x, key->pubkey.x);
	if (result == CRYPT_OK)
		result = mp_copy(y, key->pubkey.y);
	if (result == CRYPT_OK)
		result = mp_set_int(key->pubkey.z, 1);
	if (result == CRYPT_OK && type == PK_PRIVATE)
		result = mp_copy(d, key->k);
	return result;
}

static int hash(const uint8_t *message, size_t length, uint8_t digest[DIGEST_BYTES])
{
	hash_state state;
	int result = sha256_init(&state);

	if (result == CRYPT_OK)
		result = sha256_process(&state, message, length);
	if (result == CRYPT_OK)
		result = sha256_done(&state, digest);
	return result;
}

static int sign(const uint8_t *message, size_t length, uint8_t signature[2 * P256_BYTES], struct bench_span *inner)
{
	uint8_t digest[DIGEST_BYTES];
	unsigned long size = 2 * P256_BYTES;
	ecc_key key;
	int result = hash(message, length, digest);

	(void)inner;
	if (result == CRYPT_OK)
		result = load_key(&key, PK_PRIVATE);
	if (result != CRYPT_OK)
		return failure(result);
	result = ecc_sign_hash_rfc7518(digest, sizeof(digest), signature, &size, NULL, prng, &key);
	ecc_free(&key);
	return failure(result);
}

static int verify(const uint8_t *message, size_t length, const uint8_t signature[2 * P256_BYTES],
		  struct bench_span *inner)
{
	uint8_t digest[DIGEST_BYTES];
	ecc_key key;
	int valid = 0;
	int result = hash(message, length, digest);

	(void)inner;
	if (result == CRYPT_OK)
		result = load_key(&key, PK_PUBLIC);
	if (result != CRYPT_OK)
		return failure(result);
	result = ecc_verify_hash_rfc7518(signature, 2 * P256_BYTES, digest, sizeof(digest), &valid, &key);
	ecc_free(&key);
	if (result == CRYPT_INVALID_PACKET)
		return 1;
	return result == CRYPT_OK ? !valid : failure(result);
}

static int hash_pieces(const uint8_t *message, size_t length, size_t chunk, uint8_t digest[DIGEST_BYTES])
{
	hash_state state;
	int result = sha256_init(&state);

	for (size_t done = 0; result == CRYPT_OK && done < length; done += chunk)
		result = sha256_process(&state, message + done, length - done < chunk ? length - done : chunk);
	if (result == CRYPT_OK)
		result = sha256_done(&state, digest);
	return failure(result);
}

struct attest_ops linux_ops = {
	.name = "libtomcrypt",
	.open = open_ops,
	.keygen = keygen,
	.export_key = export_key,
	.sign = sign,
	.verify = verify,
	.hash = hash_pieces,
	.close = close_ops,
};
