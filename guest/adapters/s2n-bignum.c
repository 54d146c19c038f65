/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "s2n-bignum"
title = "s2n-bignum (AArch64)"
about = "P-256 by s2n-bignum's A64 assembly, as AWS-LC has it, and SHA-256 instructions; ECDSA around it is ours; nonces by RFC 6979"
licence = "Apache-2.0"
constant_time = "yes: s2n-bignum's README, of its functions; ECDSA around them is ours"
[source]
crate = "aws-lc-sys"
version = "0.47.0"
sha256 = "8bfbe32ac36b3c428696ce315464181bc4029d689fd58e3f2a4e58c252242f52"
[build]
include = ["aws-lc/third_party/s2n-bignum/s2n-bignum-imported/include", "aws-lc/include"]
# The headers that would put a prefix before each name stay empty.
defines = ["BORINGSSL_PREFIX_SYMBOLS_H"]
[build.curve.secp256r1]
sources = [
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_bigendian_4.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_demont_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_mod_n256_4.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_montinv_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_mont???_p256*.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_nonzero_4.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_optneg_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_sub_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_add_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/bignum_tomont_p256.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/p256/p256_mont*.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_eq.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_lt.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_modadd.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_modoptneg.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/bignum_optadd.S",
  "aws-lc/third_party/s2n-bignum/s2n-bignum-imported/arm/generic/word_divstep59.S",
  "aws-lc/generated-src/linux-aarch64/crypto/fipsmodule/p256-armv8-asm.S",
  "aws-lc/generated-src/linux-aarch64/crypto/fipsmodule/sha256-armv8.S",
]
[build.curve.none]
sources = ["aws-lc/generated-src/linux-aarch64/crypto/fipsmodule/sha256-armv8.S"]
[operations]
secp256r1 = ["keygen", "sign", "verify", "ecdh"]
none = ["sha256"]
[needs]
cores = ["cortex-a72"]
derived = true
# Teeth, blocks and spacing of the comb: the table has blocks * 2^(teeth - 1) points of 64 bytes.
[options.comb]
default = "6x11x4"
[options.comb.values]
5x11x5 = ["COMB_TEETH=5", "COMB_BLOCKS=11", "COMB_SPACING=5"]
6x11x4 = ["COMB_TEETH=6", "COMB_BLOCKS=11", "COMB_SPACING=4"]
6x22x2 = ["COMB_TEETH=6", "COMB_BLOCKS=22", "COMB_SPACING=2"]
6x43x1 = ["COMB_TEETH=6", "COMB_BLOCKS=43", "COMB_SPACING=1"]
7x10x4 = ["COMB_TEETH=7", "COMB_BLOCKS=10", "COMB_SPACING=4"]
7x19x2 = ["COMB_TEETH=7", "COMB_BLOCKS=19", "COMB_SPACING=2"]
7x37x1 = ["COMB_TEETH=7", "COMB_BLOCKS=37", "COMB_SPACING=1"]
8x32x1 = ["COMB_TEETH=8", "COMB_BLOCKS=32", "COMB_SPACING=1"]
# s2n-bignum has each function twice: `alt` has fewer instructions, `plain` waits less for products.
[options.field]
default = "plain"
[options.field.values]
alt = ["S2N_ALT=1"]
plain = ["S2N_ALT=0"]
*/
/*
 * The field, the points and the numbers modulo the order are s2n-bignum's and AWS-LC's functions, all of them constant in
 * time. What is written here: the multiplication of the generator by a comb, ECDSA, nonces by RFC 6979, and the checks
 * of what comes from outside.
 *
 * Numbers are four words, the least significant first. `mont` says that a number of the field is times 2^256, as
 * Montgomery's multiplication wants it; so are all coordinates, but where it says otherwise.
 */
#include <arm_neon.h>
#include <string.h>

#include <s2n-bignum.h>

#include "ops.h"

#ifndef COMB_TEETH
#define COMB_TEETH 6
#define COMB_BLOCKS 11
#define COMB_SPACING 4
#endif /* COMB_TEETH */

#ifndef S2N_ALT
#define S2N_ALT 0
#endif /* S2N_ALT */

#define DIGEST 32
#define HASH_BLOCK 64
#define FAILED (-1)

#ifdef OPS_RANDOM_NONCES
const char ops_name[] = "s2n-bignum-random";
#else
const char ops_name[] = "s2n-bignum";
#endif /* OPS_RANDOM_NONCES */

/* --- SHA-256, by the instructions for it: AWS-LC's assembly has the blocks --- */

void sha256_block_data_order_hw(uint32_t state[8], const uint8_t *blocks, size_t count);

struct hash {
	uint32_t state[8];
};

static const struct hash empty_hash = { {
	0x6a09e667,
	0xbb67ae85,
	0x3c6ef372,
	0xa54ff53a,
	0x510e527f,
	0x9b05688c,
	0x1f83d9ab,
	0x5be0cd19,
} };

static void put_word(uint8_t bytes[4], uint32_t word)
{
	for (unsigned int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

/* The digest of what `hash` has already, which is `before` whole blocks, and a message. */
static void finish_hash(struct hash *hash, size_t before, const uint8_t *message, size_t length, uint8_t digest[DIGEST])
{
	uint8_t last[2 * HASH_BLOCK] = { 0 };
	size_t blocks = length / HASH_BLOCK;
	size_t left = length % HASH_BLOCK;
	/* The padding: a bit, and eight bytes of length. */
	size_t padded = left + 9 <= HASH_BLOCK ? HASH_BLOCK : 2 * HASH_BLOCK;
	uint64_t bits = 8 * ((uint64_t)before * HASH_BLOCK + length);

	if (blocks)
		sha256_block_data_order_hw(hash->state, message, blocks);
	memcpy(last, message + blocks * HASH_BLOCK, left);
	last[left] = 0x80;
	put_word(last + padded - 8, (uint32_t)(bits >> 32));
	put_word(last + padded - 4, (uint32_t)bits);
	sha256_block_data_order_hw(hash->state, last, padded / HASH_BLOCK);
	for (unsigned int i = 0; i < 8; i++)
		put_word(digest + 4 * (size_t)i, hash->state[i]);
}

static void sha256(const uint8_t *message, size_t length, uint8_t digest[DIGEST])
{
	struct hash hash = empty_hash;

	finish_hash(&hash, 0, message, length, digest);
}

#if OPS_CURVE == OPS_CURVE_NONE

int ops_open(void)
{
	return 0;
}

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	sha256(message, length, digest);
	return 0;
}

#elif OPS_CURVE == OPS_CURVE_SECP256R1

#if S2N_ALT
#define montmul bignum_montmul_p256_alt
#define montsqr bignum_montsqr_p256_alt
#define add_affine p256_montjmixadd_alt
#define add_points p256_montjadd_alt
#define double_point p256_montjdouble_alt
#define multiply_point p256_montjscalarmul_alt
#else
#define montmul bignum_montmul_p256
#define montsqr bignum_montsqr_p256
#define add_affine p256_montjmixadd
#define add_points p256_montjadd
#define double_point p256_montjdouble
#define multiply_point p256_montjscalarmul
#endif /* S2N_ALT */

#define WORDS 4

typedef uint64_t number[WORDS];
/* A point: X and Y, and in the second X / Z^2 and Y / Z^3, with Z = 0 for the point at infinity. */
typedef uint64_t affine[2 * WORDS];
typedef uint64_t jacobian[3 * WORDS];

#define Y(point) ((point) + WORDS)
#define Z(point) ((point) + 2 * WORDS)

static const number order = { 0xf3b9cac2fc632551U, 0xbce6faada7179e84U, 0xffffffffffffffffU, 0xffffffff00000000U };
/* 2^512 modulo the order: times it, in Montgomery's way, a number is times 2^256. */
static const number order_square = { 0x83244c95be79eea2U, 0x4699799c49bd6fa6U, 0x2845b2392b6bec59U,
				     0x66e12d94f3d95620U };
static const number prime = { 0xffffffffffffffffU, 0x00000000ffffffffU, 0x0000000000000000U, 0xffffffff00000001U };
static const number prime_less_order = { 0x0c46353d039cdaaeU, 0x4319055358e8617bU, 0, 0 };
static const number mont_one = { 0x0000000000000001U, 0xffffffff00000000U, 0xffffffffffffffffU, 0x00000000fffffffeU };
static const number mont_b = { 0xd89cdf6229c4bddfU, 0xacf005cd78843090U, 0xe5a220abf7212ed6U, 0xdc30061d04874834U };
static const affine generator = { 0x79e730d418a9143cU, 0x75ba95fc5fedb601U, 0x79fb732b77622510U, 0x18905f76a53755c6U,
				  0xddf25357ce95560aU, 0x8b4ab8e4ba19e45cU, 0xd2e88688dd21f325U, 0x8571ff1825885d85U };

/* z = x * y / 2^256 modulo the order, of numbers below it. */
void ecp_nistz256_ord_mul_mont(uint64_t z[4], const uint64_t x[4], const uint64_t y[4]);

/* The compiler does not know what is called, so it leaves out no call. */
static void *(*const volatile wipe)(void *, int, size_t) = memset;

static int below(const number x, const number bound)
{
	return bignum_lt(WORDS, x, WORDS, bound) != 0;
}

/* Whether it can be a private key, a nonce, or a part of a signature: from 1 to the order less 1. */
static int in_range(const number x)
{
	return bignum_nonzero_4(x) && below(x, order);
}

/* --- the generator times a number --- */

/*
 * A comb of signed bits (M. Hamburg, Fast and compact elliptic-curve cryptography, 2012). An odd number below 2^BITS is a
 * sum of 2^i or -2^i for each i below BITS. Bits at a distance of SPACING, TEETH of them, are one digit; its sign is that
 * of its topmost bit, and what is left of it is an index into the table of its block. BLOCKS digits, one of each block,
 * are added up; that is done SPACING times, with a doubling between two. No digit is zero, so no addition is left out.
 *
 * The sum so far and the point that is added to it are multiples of the generator by two numbers of which one is odd, the
 * other even: they are not the same and not each other's negative, unless so modulo the order, to which about one scalar
 * in 2^250 comes. A signature by that nonce would not be valid.
 */
#define TEETH COMB_TEETH
#define BLOCKS COMB_BLOCKS
#define SPACING COMB_SPACING
#define BITS (TEETH * BLOCKS * SPACING)
#define ENTRIES (1u << (TEETH - 1))
#define LANES 16u /* bytes of a vector */

#if BITS < 256 || BITS > 319
#error "the comb must have the bits of a number, and no more than five words of them"
#endif /* BITS */
#if TEETH < 5 || TEETH > 8
#error "the table is read by sixteen points; an index is compared in bytes"
#endif /* TEETH */

static _Alignas(64) affine table[BLOCKS][ENTRIES];

/* The powers of two of a block's digits, 2^0 to 2^(TEETH * SPACING) times what the block begins with. */
#define POWERS (TEETH * SPACING + 1u)
#define MOST_POINTS (ENTRIES > POWERS ? ENTRIES : POWERS)

static void to_jacobian(jacobian result, const affine point)
{
	memcpy(result, point, sizeof(affine));
	memcpy(Z(result), mont_one, sizeof(number));
}

/* Of at most MOST_POINTS points, none of them at infinity: with one inversion for all. */
static void to_affine(affine *results, jacobian *points, size_t count)
{
	number products[MOST_POINTS];
	number inverse, of_one, square;

	memcpy(products[0], Z(points[0]), sizeof(number));
	for (size_t i = 1; i < count; i++)
		montmul(products[i], products[i - 1], Z(points[i]));
	bignum_montinv_p256(inverse, products[count - 1]);
	for (size_t i = count; i-- > 0;) {
		if (i)
			montmul(of_one, inverse, products[i - 1]);
		else
			memcpy(of_one, inverse, sizeof(number));
		montmul(inverse, inverse, Z(points[i]));
		montsqr(square, of_one);
		montmul(results[i], points[i], square);
		montmul(square, square, of_one);
		montmul(Y(results[i]), Y(points[i]), square);
	}
}

/* Adds a point, or takes it away. */
static void add_signed(jacobian sum, const affine point, uint64_t negative)
{
	affine added;

	memcpy(added, point, sizeof(number));
	bignum_optneg_p256(Y(added), negative, Y(point));
	add_affine(sum, sum, added);
}

/* All sums of 2^(TEETH - 1) and the smaller powers, each with either sign: a bit of the index for each of these. */
static void fill_block(affine entries[ENTRIES], affine powers[POWERS])
{
	jacobian points[ENTRIES];
	jacobian sum;
	unsigned int index = 0;

	to_jacobian(sum, powers[(TEETH - 1) * SPACING]);
	for (unsigned int tooth = TEETH - 1; tooth-- > 0;)
		add_signed(sum, powers[tooth * SPACING], 1);
	memcpy(points[0], sum, sizeof(jacobian));
	/* From one to the next a single bit changes, and twice its power is added or taken away. */
	for (unsigned int i = 1; i < ENTRIES; i++) {
		unsigned int tooth = 0;

		while (!(i >> tooth & 1u))
			tooth++;
		index ^= 1u << tooth;
		add_signed(sum, powers[tooth * SPACING + 1], !(index >> tooth & 1u));
		memcpy(points[index], sum, sizeof(jacobian));
	}
	to_affine(entries, points, ENTRIES);
}

int ops_open(void)
{
	jacobian points[POWERS];
	affine powers[POWERS];
	affine first;

	memcpy(first, generator, sizeof(affine));
	for (unsigned int block = 0; block < BLOCKS; block++) {
		to_jacobian(points[0], first);
		for (unsigned int i = 1; i < POWERS; i++)
			double_point(points[i], points[i - 1]);
		to_affine(powers, points, POWERS);
		fill_block(table[block], powers);
		memcpy(first, powers[POWERS - 1], sizeof(affine));
	}
	return 0;
}

/* An entry, if it is the one that is found. */
#define TAKE(lane)                                                                                                     \
	do {                                                                                                           \
		const uint64x2x4_t entry = vld1q_u64_x4(entries[first + (lane)]);                                      \
		const uint64x2_t mask = vreinterpretq_u64_u8(vdupq_laneq_u8(found, lane));                             \
                                                                                                                       \
		part0 = vbslq_u64(mask, entry.val[0], part0);                                                          \
		part1 = vbslq_u64(mask, entry.val[1], part1);                                                          \
		part2 = vbslq_u64(mask, entry.val[2], part2);                                                          \
		part3 = vbslq_u64(mask, entry.val[3], part3);                                                          \
	} while (0)

/* One of a block's entries. All of them are read, so that the addresses do not tell which. */
static void choose(affine point, const affine entries[ENTRIES], unsigned int index)
{
	static const uint8_t lanes[LANES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	const uint8x16_t numbers = vld1q_u8(lanes);
	uint64x2_t part0 = vdupq_n_u64(0), part1 = part0, part2 = part0, part3 = part0;

	for (unsigned int first = 0; first < ENTRIES; first += LANES) {
		const uint8x16_t found = vceqq_u8(vdupq_n_u8((uint8_t)(index - first)), numbers);

		TAKE(0);
		TAKE(1);
		TAKE(2);
		TAKE(3);
		TAKE(4);
		TAKE(5);
		TAKE(6);
		TAKE(7);
		TAKE(8);
		TAKE(9);
		TAKE(10);
		TAKE(11);
		TAKE(12);
		TAKE(13);
		TAKE(14);
		TAKE(15);
	}
	vst1q_u64(point, part0);
	vst1q_u64(point + 2, part1);
	vst1q_u64(point + 4, part2);
	vst1q_u64(point + 6, part3);
}

/* TEETH bits at a distance of SPACING, from `position` on. */
static unsigned int digit_at(const uint64_t bits[6], unsigned int position)
{
#if SPACING == 1
	const unsigned int word = position / 64, shift = position % 64;

	return (unsigned int)(bits[word] >> shift | bits[word + 1] << 1 << (63 - shift)) & (2 * ENTRIES - 1);
#else
	unsigned int digit = 0;

	for (unsigned int tooth = 0; tooth < TEETH; tooth++, position += SPACING)
		digit |= (unsigned int)(bits[position / 64] >> position % 64 & 1) << tooth;
	return digit;
#endif /* SPACING */
}

/* A number from 1 to the order less 1 times the generator. */
static void multiply_generator(jacobian result, const number scalar)
{
	const uint64_t even = !(scalar[0] & 1);
	uint64_t bits[6] = { 0 };
	number odd;
	affine point;

	/* The order is odd: of a number and its negative one is odd. */
	bignum_modoptneg(WORDS, odd, even, scalar, order);
	/* A bit that is set stands for 2^i, one that is not for -2^i, if these are the odd number's from the second on. */
	for (unsigned int i = 0; i < WORDS; i++)
		bits[i] = odd[i] >> 1 | (i + 1 < WORDS ? odd[i + 1] << 63 : 0);
	bits[(BITS - 1) / 64] |= (uint64_t)1 << (BITS - 1) % 64;

	for (unsigned int offset = SPACING; offset-- > 0;) {
		if (offset != SPACING - 1)
			double_point(result, result);
		for (unsigned int block = 0; block < BLOCKS; block++) {
			const unsigned int digit = digit_at(bits, block * TEETH * SPACING + offset);
			const unsigned int positive = digit >> (TEETH - 1);

			choose(point, (const affine *)table[block], (digit ^ (positive - 1)) & (ENTRIES - 1));
			bignum_optneg_p256(Y(point), !positive, Y(point));
			if (offset == SPACING - 1 && !block)
				to_jacobian(result, point);
			else
				add_affine(result, result, point);
		}
	}
	bignum_optneg_p256(Y(result), even, Y(result));
	wipe(bits, 0, sizeof(bits));
	wipe(odd, 0, sizeof(odd));
}

/* X / Z^2, no longer times 2^256. */
static void affine_x(number x, const jacobian point)
{
	number inverse;

	bignum_montinv_p256(inverse, Z(point));
	montsqr(inverse, inverse);
	montmul(x, point, inverse);
	bignum_demont_p256(x, x);
}

/* --- keys --- */

/* A public key as a point: 0, or FAILED if it is not one of the curve. The cofactor is 1. */
static int read_public(jacobian point, const uint8_t public_key[OPS_PUBLIC_BYTES])
{
	number left, right, x, y;

	bignum_frombebytes_4(x, public_key);
	bignum_frombebytes_4(y, public_key + OPS_BYTES);
	if (!below(x, prime) || !below(y, prime))
		return FAILED;
	bignum_tomont_p256(point, x);
	bignum_tomont_p256(Y(point), y);
	memcpy(Z(point), mont_one, sizeof(number));
	/* y^2 = x^3 - 3 x + b */
	montsqr(left, Y(point));
	montsqr(right, point);
	for (unsigned int i = 0; i < 3; i++)
		bignum_sub_p256(right, right, mont_one);
	montmul(right, right, point);
	bignum_add_p256(right, right, mont_b);
	return bignum_eq(WORDS, left, WORDS, right) ? 0 : FAILED;
}

int ops_keygen(uint8_t private_key[OPS_PRIVATE_BYTES], uint8_t public_key[OPS_PUBLIC_BYTES])
{
	jacobian product;
	affine point;
	number scalar;

	do {
		ops_random(private_key, OPS_PRIVATE_BYTES);
		bignum_frombebytes_4(scalar, private_key);
	} while (!in_range(scalar));
	multiply_generator(product, scalar);
	wipe(scalar, 0, sizeof(scalar));
	to_affine(&point, &product, 1);
	bignum_demont_p256(point, point);
	bignum_demont_p256(Y(point), Y(point));
	bignum_tobebytes_4(public_key, point);
	bignum_tobebytes_4(public_key + OPS_BYTES, Y(point));
	return 0;
}

/* --- nonces --- */

#ifdef OPS_RANDOM_NONCES

/* What the next nonce is drawn from: nothing but random bytes. */
struct nonces {
	uint8_t bytes[OPS_ORDER_BYTES];
};

static void begin_nonces(struct nonces *nonces, const uint8_t private_key[OPS_PRIVATE_BYTES], const number hashed)
{
	(void)nonces;
	(void)private_key;
	(void)hashed;
}

static void next_nonce(struct nonces *nonces, number nonce)
{
	ops_random(nonces->bytes, sizeof(nonces->bytes));
	bignum_frombebytes_4(nonce, nonces->bytes);
}

#else

/* RFC 6979, section 3.2: HMAC-SHA-256 with the key K, of which the two blocks that it begins with are kept, and V. */
struct nonces {
	struct hash inner;
	struct hash outer;
	uint8_t block[HASH_BLOCK];
	/* V, a byte, and in the two steps that need it the private key and the message's digest. */
	uint8_t value[DIGEST + 1 + OPS_PRIVATE_BYTES + DIGEST];
	uint8_t key[DIGEST];
	int begun;
};

static void set_key(struct nonces *nonces)
{
	memset(nonces->block, 0x36, HASH_BLOCK);
	for (unsigned int i = 0; i < DIGEST; i++)
		nonces->block[i] ^= nonces->key[i];
	nonces->inner = empty_hash;
	sha256_block_data_order_hw(nonces->inner.state, nonces->block, 1);
	for (unsigned int i = 0; i < HASH_BLOCK; i++)
		nonces->block[i] ^= 0x36 ^ 0x5c;
	nonces->outer = empty_hash;
	sha256_block_data_order_hw(nonces->outer.state, nonces->block, 1);
}

/* HMAC of the first bytes of V and what stands behind it. */
static void authenticate(struct nonces *nonces, size_t length, uint8_t code[DIGEST])
{
	struct hash hash = nonces->inner;

	finish_hash(&hash, 1, nonces->value, length, nonces->block);
	hash = nonces->outer;
	finish_hash(&hash, 1, nonces->block, DIGEST, code);
}

/* A new K from V, a byte and what stands behind it, then a new V. */
static void change_key(struct nonces *nonces, uint8_t byte, size_t length)
{
	nonces->value[DIGEST] = byte;
	authenticate(nonces, length, nonces->key);
	set_key(nonces);
	authenticate(nonces, DIGEST, nonces->value);
}

static void begin_nonces(struct nonces *nonces, const uint8_t private_key[OPS_PRIVATE_BYTES], const number hashed)
{
	memset(nonces->value, 1, DIGEST);
	memcpy(nonces->value + DIGEST + 1, private_key, OPS_PRIVATE_BYTES);
	bignum_tobebytes_4(nonces->value + DIGEST + 1 + OPS_PRIVATE_BYTES, hashed);
	memset(nonces->key, 0, DIGEST);
	set_key(nonces);
	change_key(nonces, 0, sizeof(nonces->value));
	change_key(nonces, 1, sizeof(nonces->value));
	nonces->begun = 0;
}

static void next_nonce(struct nonces *nonces, number nonce)
{
	if (nonces->begun)
		change_key(nonces, 0, DIGEST + 1);
	nonces->begun = 1;
	authenticate(nonces, DIGEST, nonces->value);
	bignum_frombebytes_4(nonce, nonces->value);
}

#endif /* OPS_RANDOM_NONCES */

/* --- signatures --- */

/* The message's digest as a number below the order. */
static void hash_number(number hashed, const uint8_t *message, size_t length)
{
	uint8_t digest[DIGEST];

	sha256(message, length, digest);
	bignum_frombebytes_4(hashed, digest);
	bignum_mod_n256_4(hashed, hashed);
}

/*
 * 1 / x modulo the order, as bignum_inv_p256() does it modulo the prime: D. J. Bernstein and B.-Y. Yang, Fast
 * constant-time gcd computation and modular inversion, 2019. 590 division steps are enough for 256 bits; s2n-bignum has
 * them in packs of 59, which also decides how long the limbs are here. bignum_modinv() takes twice the instructions.
 */
#define LIMBS 5
#define LIMB_BITS 59
#define LIMB_MASK ((INT64_C(1) << LIMB_BITS) - 1)
#define PACKS 10

/* The sum of them times 2^(59 i). All but the last are not negative. */
typedef int64_t limbs[LIMBS];
/* Standard C has no product of two words. */
__extension__ typedef __int128 wide;

static const limbs order_limbs = { 0x3b9cac2fc632551, 0x4df55b4e2f3d09e, 0x7fffffffffffef3, 0x7ff800000007fff,
				   0x0000000000fffff };
#define ORDER_NEGATIVE_INVERSE UINT64_C(0x4d1c8aaee00bc4f) /* modulo 2^59 */

static void to_limbs(limbs result, const number x)
{
	result[0] = (int64_t)x[0] & LIMB_MASK;
	result[1] = (int64_t)(x[0] >> 59 | x[1] << 5) & LIMB_MASK;
	result[2] = (int64_t)(x[1] >> 54 | x[2] << 10) & LIMB_MASK;
	result[3] = (int64_t)(x[2] >> 49 | x[3] << 15) & LIMB_MASK;
	result[4] = (int64_t)(x[3] >> 44);
}

/*
 * (a x + b y) / 2^59, which must be a whole number; if it is `modular`, a multiple of the order makes it one. With |a| + |b|
 * at most 2^59 the result is no greater than the greater one of x and y, and in the second case half the order.
 */
static inline void combine(limbs result, int64_t a, const limbs x, int64_t b, const limbs y, int modular)
{
	wide sum = (wide)a * x[0] + (wide)b * y[0];
	int64_t times = 0;

	if (modular) {
		/* Of 59 bits, the topmost of which is the sign. */
		times = (int64_t)((uint64_t)sum * ORDER_NEGATIVE_INVERSE << 5) >> 5;
		sum += (wide)times * order_limbs[0];
	}
	for (unsigned int i = 1; i < LIMBS; i++) {
		sum >>= LIMB_BITS;
		sum += (wide)a * x[i] + (wide)b * y[i];
		if (modular)
			sum += (wide)times * order_limbs[i];
		result[i - 1] = (int64_t)sum & LIMB_MASK;
	}
	result[LIMBS - 1] = (int64_t)(sum >> LIMB_BITS);
}

/* A number's lowest 64 bits. */
static uint64_t low_word(const limbs x)
{
	return (uint64_t)x[0] | (uint64_t)x[1] << LIMB_BITS;
}

/* What inversion leaves in memory. */
struct inversion {
	limbs f, g, u, v, next;
	int64_t steps[2][2];
};

/* 1 / x modulo the order, times 2^256. */
static void invert(number result, const number x)
{
	struct inversion now = { .f = { 0 } };
	int64_t (*const m)[2] = now.steps;
	int64_t delta = 1;
	int negative;

	/* f = u x and g = v x modulo the order, but for powers of two that are the same for both. */
	memcpy(now.f, order_limbs, sizeof(limbs));
	to_limbs(now.g, x);
	for (unsigned int pack = 1; pack < PACKS; pack++) {
		delta = word_divstep59(m, delta, low_word(now.f), low_word(now.g));
		combine(now.next, m[0][0], now.f, m[0][1], now.g, 0);
		combine(now.g, m[1][0], now.f, m[1][1], now.g, 0);
		memcpy(now.f, now.next, sizeof(limbs));
		if (pack == 1) {
			/* From u = 0 and v = 1, and not divided. */
			now.u[0] = m[0][1];
			now.v[0] = m[1][1];
		} else {
			combine(now.next, m[0][0], now.u, m[0][1], now.v, 1);
			combine(now.v, m[1][0], now.u, m[1][1], now.v, 1);
			memcpy(now.u, now.next, sizeof(limbs));
		}
	}
	word_divstep59(m, delta, low_word(now.f), low_word(now.g));
	/* f is 1 or -1 now, before the division. */
	negative = (int64_t)((uint64_t)m[0][0] * low_word(now.f) + (uint64_t)m[0][1] * low_word(now.g)) < 0;
	combine(now.next, m[0][0], now.u, m[0][1], now.v, 1);
	/* The division that the first pack was left without; it also leaves less than the order, of either sign. */
	combine(now.u, 1, now.next, 0, now.next, 1);
	result[0] = (uint64_t)now.u[0] | (uint64_t)now.u[1] << 59;
	result[1] = (uint64_t)now.u[1] >> 5 | (uint64_t)now.u[2] << 54;
	result[2] = (uint64_t)now.u[2] >> 10 | (uint64_t)now.u[3] << 49;
	result[3] = (uint64_t)now.u[3] >> 15 | (uint64_t)now.u[4] << 44;
	(void)bignum_optadd(WORDS, result, result, now.u[4] < 0, order);
	bignum_modoptneg(WORDS, result, (uint64_t)negative, result, order);
	ecp_nistz256_ord_mul_mont(result, result, order_square);
	wipe(&now, 0, sizeof(now));
}

/* What a signature leaves in memory, but for the stack of the assembly. */
struct secrets {
	number private_key;
	number nonce;
	number sum;
	jacobian point;
	struct nonces nonces;
};

/* FAILED if this nonce will not do: r or s would be zero. */
static int sign_with_nonce(struct secrets *secrets, const number hashed, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	number r, s;

	multiply_generator(secrets->point, secrets->nonce);
	affine_x(r, secrets->point);
	bignum_mod_n256_4(r, r);
	/* s = (hash + r d) / k, with d times 2^256 */
	ecp_nistz256_ord_mul_mont(secrets->sum, r, secrets->private_key);
	bignum_modadd(WORDS, secrets->sum, secrets->sum, hashed, order);
	invert(s, secrets->nonce);
	ecp_nistz256_ord_mul_mont(s, secrets->sum, s);
	if (!bignum_nonzero_4(r) || !bignum_nonzero_4(s))
		return FAILED;
	bignum_tobebytes_4(signature, r);
	bignum_tobebytes_4(signature + OPS_ORDER_BYTES, s);
	return 0;
}

int ops_sign(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t public_key[OPS_PUBLIC_BYTES],
	     const uint8_t *message, size_t length, uint8_t signature[OPS_SIGNATURE_BYTES])
{
	struct secrets secrets;
	number hashed;
	int result = FAILED;

	(void)public_key;
	bignum_frombebytes_4(secrets.private_key, private_key);
	if (in_range(secrets.private_key)) {
		hash_number(hashed, message, length);
		begin_nonces(&secrets.nonces, private_key, hashed);
		ecp_nistz256_ord_mul_mont(secrets.private_key, secrets.private_key, order_square);
		/* That one is not in range tells nothing of the next one. */
		do
			next_nonce(&secrets.nonces, secrets.nonce);
		while (!in_range(secrets.nonce) || sign_with_nonce(&secrets, hashed, signature));
		result = 0;
	}
	wipe(&secrets, 0, sizeof(secrets));
	return result;
}

/* The sum of two points; s2n-bignum's addition has all cases but that of two equal ones. */
static void add_any(jacobian sum, const jacobian one, const jacobian other)
{
	number left, right, square;

	add_points(sum, one, other);
	if (bignum_nonzero_4(Z(sum)) || !bignum_nonzero_4(Z(one)) || !bignum_nonzero_4(Z(other)))
		return;
	/* They have the same X / Z^2. */
	montsqr(square, Z(other));
	montmul(square, square, Z(other));
	montmul(left, Y(one), square);
	montsqr(square, Z(one));
	montmul(square, square, Z(one));
	montmul(right, Y(other), square);
	if (bignum_eq(WORDS, left, WORDS, right))
		double_point(sum, one);
}

/* Whether X / Z^2 is a number. */
static int has_x(const jacobian point, const number x)
{
	number expected, square;

	bignum_tomont_p256(expected, x);
	montsqr(square, Z(point));
	montmul(expected, expected, square);
	return bignum_eq(WORDS, expected, WORDS, point) != 0;
}

int ops_verify(const uint8_t public_key[OPS_PUBLIC_BYTES], const uint8_t *message, size_t length,
	       const uint8_t signature[OPS_SIGNATURE_BYTES])
{
	number hashed, r, s, inverse, factor;
	jacobian point, sum;

	bignum_frombebytes_4(r, signature);
	bignum_frombebytes_4(s, signature + OPS_ORDER_BYTES);
	if (!in_range(r) || !in_range(s) || read_public(point, public_key))
		return 1;
	hash_number(hashed, message, length);
	/* hash / s times the generator and r / s times the key. */
	invert(inverse, s);
	ecp_nistz256_ord_mul_mont(factor, r, inverse);
	multiply_point(sum, factor, point);
	if (bignum_nonzero_4(hashed)) {
		ecp_nistz256_ord_mul_mont(factor, hashed, inverse);
		multiply_generator(point, factor);
		add_any(sum, point, sum);
	}
	if (!bignum_nonzero_4(Z(sum)))
		return 1;
	if (has_x(sum, r))
		return 0;
	/* r is X modulo the order: X itself may be greater by it. */
	if (!below(r, prime_less_order))
		return 1;
	bignum_modadd(WORDS, r, r, order, prime);
	return !has_x(sum, r);
}

/* --- shared secrets --- */

int ops_ecdh(const uint8_t private_key[OPS_PRIVATE_BYTES], const uint8_t peer[OPS_PUBLIC_BYTES],
	     uint8_t secret[OPS_SECRET_BYTES])
{
	jacobian point, product;
	number scalar, x;

	bignum_frombebytes_4(scalar, private_key);
	if (!in_range(scalar) || read_public(point, peer))
		return FAILED;
	multiply_point(product, scalar, point);
	affine_x(x, product);
	bignum_tobebytes_4(secret, x);
	wipe(scalar, 0, sizeof(scalar));
	wipe(product, 0, sizeof(product));
	wipe(x, 0, sizeof(x));
	return 0;
}

#else
#error "s2n-bignum has no such curve here"
#endif /* OPS_CURVE */
