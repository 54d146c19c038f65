/* SPDX-License-Identifier: BSD-2-Clause */
/* X25519 of s2n-bignum. The published figure of key generation has also the system call that draws the key. */
#include <stdint.h>

#include "cells.h"

extern void curve25519_x25519_byte(uint8_t result[32], const uint8_t scalar[32], const uint8_t point[32]);
extern void curve25519_x25519_byte_alt(uint8_t result[32], const uint8_t scalar[32], const uint8_t point[32]);
extern void curve25519_x25519base_byte(uint8_t result[32], const uint8_t scalar[32]);
extern void curve25519_x25519base_byte_alt(uint8_t result[32], const uint8_t scalar[32]);

static long long count(void)
{
	return 2;
}

static const char *implementation(long long number)
{
	return number ? "alt" : "plain";
}

static const char *compiler(long long number)
{
	(void)number;
	return "assembly";
}

static cells_function dh(long long number)
{
	return (cells_function)(number ? curve25519_x25519_byte_alt : curve25519_x25519_byte);
}

static cells_function keygen(long long number)
{
	return (cells_function)(number ? curve25519_x25519base_byte_alt : curve25519_x25519base_byte);
}

/* Another's public key. */
static void prepare_dh(long long number, struct cells_buffers *buffers)
{
	(void)number;
	curve25519_x25519base_byte(buffers->in[1], buffers->in[2]);
}

const struct cells_operation cells_operations[] = {
	{ "x25519-dh", 32, { 32, 32, 32, 32 }, count, dh, implementation, compiler, prepare_dh, cells_call_o01 },
	{ "x25519-keygen", 32, { 32, 32, 0, 0 }, count, keygen, implementation, compiler, NULL, cells_call_o0 },
};

const size_t cells_count = sizeof(cells_operations) / sizeof(cells_operations[0]);
