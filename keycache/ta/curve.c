/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of 256 bits as eight words, the lowest first. All of them are public, and few: what is short is preferred to what is
 * fast or takes the same time.
 */
#include "curve.h"

#define WORDS 8
#define BYTES (WORDS * 4)

struct number {
	uint32_t words[WORDS];
};

/* The constants of SEC 2, secp256r1: y^2 = x^3 - 3 x + b modulo the prime, and the group's order. */
static const struct number prime = { { 0xffffffff, 0xffffffff, 0xffffffff, 0, 0, 0, 1, 0xffffffff } };
static const struct number b = { { 0x27d2604b, 0x3bce3c3e, 0xcc53b0f6, 0x651d06b0, 0x769886bc, 0xb3ebbd55, 0xaa3a93e7,
				   0x5ac635d8 } };
static const struct number order = { { 0xfc632551, 0xf3b9cac2, 0xa7179e84, 0xbce6faad, 0xffffffff, 0xffffffff, 0,
				       0xffffffff } };
static const struct number three = { { 3 } };

static struct number load(const uint8_t bytes[BYTES])
{
	struct number number = { { 0 } };
	unsigned int at;

	for (at = 0; at < BYTES; at++)
		number.words[(BYTES - 1 - at) / 4] |= (uint32_t)bytes[at] << (BYTES - 1 - at) % 4 * 8;
	return number;
}

/* one - other, modulo 2^256; whether it would be negative. */
static bool subtract(const struct number *one, const struct number *other, struct number *result)
{
	uint64_t borrow = 0;
	unsigned int at;

	for (at = 0; at < WORDS; at++) {
		uint64_t word = (uint64_t)one->words[at] - other->words[at] - borrow;

		result->words[at] = (uint32_t)word;
		borrow = word >> 63;
	}
	return borrow;
}

static bool is_below(const struct number *one, const struct number *other)
{
	struct number unused;

	return subtract(one, other, &unused);
}

/* The following take and give numbers below the prime. */

static struct number plus(const struct number *one, const struct number *other)
{
	struct number sum;
	struct number less;
	uint64_t carry = 0;
	unsigned int at;

	for (at = 0; at < WORDS; at++) {
		carry += (uint64_t)one->words[at] + other->words[at];
		sum.words[at] = (uint32_t)carry;
		carry >>= 32;
	}
	return subtract(&sum, &prime, &less) && !carry ? sum : less;
}

static struct number minus(const struct number *one, const struct number *other)
{
	struct number negative;

	(void)subtract(&prime, other, &negative);
	return plus(one, &negative);
}

static struct number times(const struct number *one, const struct number *other)
{
	struct number product = { { 0 } };
	unsigned int bit = BYTES * 8;

	while (bit--) {
		product = plus(&product, &product);
		if (other->words[bit / 32] >> bit % 32 & 1)
			product = plus(&product, one);
	}
	return product;
}

bool curve_has(const uint8_t point[KEYCACHE_POINT_BYTES])
{
	const struct number x = load(point);
	const struct number y = load(point + BYTES);
	struct number left;
	struct number right;

	if (!is_below(&x, &prime) || !is_below(&y, &prime))
		return false;
	left = times(&y, &y);
	/* (x^2 - 3) x + b */
	right = times(&x, &x);
	right = minus(&right, &three);
	right = times(&right, &x);
	right = plus(&right, &b);
	return !TEE_MemCompare(&left, &right, sizeof(left));
}

static bool is_scalar(const uint8_t bytes[BYTES])
{
	static const struct number zero;
	const struct number number = load(bytes);

	return TEE_MemCompare(&number, &zero, sizeof(number)) && is_below(&number, &order);
}

bool curve_may_sign(const uint8_t signature[KEYCACHE_SIGNATURE_BYTES])
{
	return is_scalar(signature) && is_scalar(signature + BYTES);
}
