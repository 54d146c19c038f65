/* SPDX-License-Identifier: BSD-2-Clause */
#include "drbg.h"

#include <string.h>

#define BLOCK 64

/* SHA-256 of FIPS 180-4. No measured operation uses it, so it is short and not quick. */
struct sha256 {
	uint32_t state[8];
	uint64_t length;
	uint8_t block[BLOCK];
};

static uint32_t rotated(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

static void compress(struct sha256 *hash)
{
	static const uint32_t constants[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
		0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
		0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
		0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
		0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
		0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
		0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
		0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
	};
	uint32_t w[64];
	uint32_t s[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)hash->block[4 * i] << 24 | (uint32_t)hash->block[4 * i + 1] << 16 |
		       (uint32_t)hash->block[4 * i + 2] << 8 | hash->block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
	memcpy(s, hash->state, sizeof(s));
	for (int i = 0; i < 64; i++) {
		uint32_t a = rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25);
		uint32_t b = rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22);
		uint32_t first = s[7] + a + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
		uint32_t second = b + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += first;
		s[0] = first + second;
	}
	for (int i = 0; i < 8; i++)
		hash->state[i] += s[i];
}

static void hash_start(struct sha256 *hash)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(hash->state, start, sizeof(start));
	hash->length = 0;
}

static void hash_add(struct sha256 *hash, const uint8_t *bytes, size_t length)
{
	for (; length; length--) {
		hash->block[hash->length++ % BLOCK] = *bytes++;
		if (hash->length % BLOCK == 0)
			compress(hash);
	}
}

static void hash_end(struct sha256 *hash, uint8_t digest[DRBG_BYTES])
{
	static const uint8_t padding[BLOCK] = { 0x80 };
	uint64_t bits = hash->length * 8;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	hash_add(hash, padding, 1 + (BLOCK + 55 - hash->length % BLOCK) % BLOCK);
	hash_add(hash, length, sizeof(length));
	for (int i = 0; i < DRBG_BYTES; i++)
		digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* HMAC of FIPS 198-1 over V, and over a byte and the seed if `mark` is not negative. */
static void hmac(struct drbg *drbg, int mark, const uint8_t *seed, size_t length, uint8_t out[DRBG_BYTES])
{
	struct sha256 hash;
	uint8_t pad[BLOCK];
	uint8_t inner[DRBG_BYTES];
	uint8_t byte = (uint8_t)mark;

	memset(pad, 0x36, sizeof(pad));
	for (int i = 0; i < DRBG_BYTES; i++)
		pad[i] ^= drbg->key[i];
	hash_start(&hash);
	hash_add(&hash, pad, sizeof(pad));
	hash_add(&hash, drbg->value, DRBG_BYTES);
	if (mark >= 0)
		hash_add(&hash, &byte, 1);
	hash_add(&hash, seed, length);
	hash_end(&hash, inner);
	for (int i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	hash_start(&hash);
	hash_add(&hash, pad, sizeof(pad));
	hash_add(&hash, inner, sizeof(inner));
	hash_end(&hash, out);
}

static void update(struct drbg *drbg, const uint8_t *seed, size_t length)
{
	for (int mark = 0; mark < (length ? 2 : 1); mark++) {
		hmac(drbg, mark, seed, length, drbg->key);
		hmac(drbg, -1, NULL, 0, drbg->value);
	}
}

void drbg_start(struct drbg *drbg, const uint8_t *seed, size_t length)
{
	memset(drbg->key, 0, sizeof(drbg->key));
	memset(drbg->value, 1, sizeof(drbg->value));
	update(drbg, seed, length);
}

void drbg_generate(struct drbg *drbg, uint8_t *out, size_t length)
{
	while (length) {
		size_t piece = length < DRBG_BYTES ? length : DRBG_BYTES;

		hmac(drbg, -1, NULL, 0, drbg->value);
		memcpy(out, drbg->value, piece);
		out += piece;
		length -= piece;
	}
	update(drbg, NULL, 0);
}
