/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of P256-Cortex-M4 on its own numbers: words, the least significant first. */
#include <stdbool.h>

#include "cells.h"
#include "mcu_cells.h"
#include "p256-cortex-m4.h"

#define WORDS 8
#define NUMBER 32
#define POINT 64
#define COMPRESSED 33

static uint32_t secret[WORDS], nonce[WORDS];
static uint32_t x[WORDS], y[WORDS], r[WORDS], s[WORDS];
static uint8_t hash[NUMBER], octets[COMPRESSED];

/* Random numbers are below the curve's order in all but one of 2^32 cases, and the library refuses the others. */
static void prepare(long long number, struct cells_buffers *b)
{
	(void)number;
	(void)b;
	randombytes(secret, sizeof(secret));
	randombytes(nonce, sizeof(nonce));
	randombytes(hash, sizeof(hash));
	mcu_require(p256_keygen(x, y, secret));
	mcu_require(p256_sign(r, s, hash, sizeof(hash), secret, nonce));
	p256_point_to_octet_string_compressed(octets, x, y);
}

static void call_keygen(cells_function function, struct cells_buffers *b)
{
	uint32_t *out = (uint32_t *)(void *)b->out;
	bool right;

	(void)function;
	cells_begin();
	right = p256_keygen(out, out + WORDS, secret);
	cells_end();
	mcu_require(right);
}

static void call_sign(cells_function function, struct cells_buffers *b)
{
	uint32_t *out = (uint32_t *)(void *)b->out;
	bool right;

	(void)function;
	cells_begin();
	right = p256_sign(out, out + WORDS, hash, sizeof(hash), secret, nonce);
	cells_end();
	mcu_require(right);
}

static void call_verify(cells_function function, struct cells_buffers *b)
{
	bool right;

	(void)function;
	(void)b;
	cells_begin();
	right = p256_verify(x, y, hash, sizeof(hash), r, s);
	cells_end();
	mcu_require(right);
}

static void call_ecdh(cells_function function, struct cells_buffers *b)
{
	bool right;

	(void)function;
	cells_begin();
	right = p256_ecdh_calc_shared_secret(b->out, secret, x, y);
	cells_end();
	mcu_require(right);
}

static void call_decompress(cells_function function, struct cells_buffers *b)
{
	uint32_t *out = (uint32_t *)(void *)b->out;
	bool right;

	(void)function;
	cells_begin();
	right = p256_octet_string_to_point(out, out + WORDS, octets, sizeof(octets));
	cells_end();
	mcu_require(right);
}

const struct cells_operation cells_operations[] = {
	MCU_OPERATION("keygen", 0, POINT, 0, 0, 0, prepare, call_keygen, mcu_assembly),
	MCU_OPERATION("sign", 0, POINT, 0, 0, 0, prepare, call_sign, mcu_assembly),
	MCU_OPERATION("verify", 0, 0, 0, 0, 0, prepare, call_verify, mcu_assembly),
	MCU_OPERATION("ecdh", 0, NUMBER, 0, 0, 0, prepare, call_ecdh, mcu_assembly),
	MCU_OPERATION("decompress", 0, POINT, 0, 0, 0, prepare, call_decompress, mcu_assembly),
};

const size_t cells_count = sizeof(cells_operations) / sizeof(cells_operations[0]);
