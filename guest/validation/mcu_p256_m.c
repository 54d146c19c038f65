/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of p256-m, as its benchmark calls them: a key pair of its own, and another's. */
#include "cells.h"
#include "mcu_cells.h"
#include "p256-m.h"
#include "psa/crypto.h"

#define PRIVATE 32
#define PUBLIC 64
#define SIGNATURE 64
#define HASH 32

static uint8_t other[PRIVATE];
static uint8_t peer[PUBLIC];

/* mbed TLS's copy of p256-m draws from this function of PSA. */
psa_status_t psa_generate_random(uint8_t *output, size_t output_size)
{
	randombytes(output, (long long)output_size);
	return PSA_SUCCESS;
}

/* Our private key, our public key, and a hash. */
static void prepare(long long number, struct cells_buffers *b)
{
	(void)number;
	mcu_require(!p256_gen_keypair(b->in[0], b->in[1]));
	mcu_require(!p256_gen_keypair(other, peer));
}

static void prepare_signature(long long number, struct cells_buffers *b)
{
	prepare(number, b);
	mcu_require(!p256_ecdsa_sign(b->out, b->in[0], b->in[2], HASH));
}

static void call_keygen(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = p256_gen_keypair(b->out, b->in[1]);
	cells_end();
	mcu_require(!status);
}

static void call_ecdh(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = p256_ecdh_shared_secret(b->out, b->in[0], peer);
	cells_end();
	mcu_require(!status);
}

static void call_sign(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = p256_ecdsa_sign(b->out, b->in[0], b->in[2], HASH);
	cells_end();
	mcu_require(!status);
}

static void call_verify(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = p256_ecdsa_verify(b->out, b->in[1], b->in[2], HASH);
	cells_end();
	mcu_require(!status);
}

const struct cells_operation cells_operations[] = {
	MCU_OPERATION("p256_gen_keypair", 0, PRIVATE, PRIVATE, PUBLIC, HASH, prepare, call_keygen, mcu_compiled),
	MCU_OPERATION("p256_ecdh_shared_secret", 0, PRIVATE, PRIVATE, PUBLIC, HASH, prepare, call_ecdh, mcu_compiled),
	MCU_OPERATION("p256_ecdsa_sign", 0, SIGNATURE, PRIVATE, PUBLIC, HASH, prepare, call_sign, mcu_compiled),
	MCU_OPERATION("p256_ecdsa_verify", 0, SIGNATURE, PRIVATE, PUBLIC, HASH, prepare_signature, call_verify,
		      mcu_compiled),
};

const size_t cells_count = sizeof(cells_operations) / sizeof(cells_operations[0]);
