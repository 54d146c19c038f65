/* SPDX-License-Identifier: BSD-2-Clause */
#include "siphash.h"

static uint64_t k0;
static uint64_t k1;

static uint64_t little(const uint8_t *bytes, size_t count)
{
	uint64_t word = 0;

	while (count--)
		word = word << 8 | bytes[count];
	return word;
}

void siphash_set_key(const uint8_t key[16])
{
	k0 = little(key, 8);
	k1 = little(key + 8, 8);
}

void siphash_start(void)
{
	uint8_t key[16];

	TEE_GenerateRandom(key, sizeof(key));
	siphash_set_key(key);
	wipe(key, sizeof(key));
}

static inline uint64_t rotate(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void rounds(uint64_t v[4], unsigned int count)
{
	while (count--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static inline void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

uint64_t siphash_bytes(const uint8_t *bytes, size_t count)
{
	/* The constants are the paper's: "somepseudorandomlygeneratedbytes". */
	uint64_t v[4] = {
		k0 ^ UINT64_C(0x736f6d6570736575),
		k1 ^ UINT64_C(0x646f72616e646f6d),
		k0 ^ UINT64_C(0x6c7967656e657261),
		k1 ^ UINT64_C(0x7465646279746573),
	};
	size_t at;

	for (at = 0; count - at >= 8; at += 8)
		absorb(v, little(bytes + at, 8));
	absorb(v, little(bytes + at, count - at) | (uint64_t)count << 56);
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
