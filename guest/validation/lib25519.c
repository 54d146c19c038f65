/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of lib25519, as its speed program calls them. */
#include <lib25519.h>

#include "cells.h"

#define BATCH 16
#define HASHED 3595
#define SIGNED 3389
/* The speed program lets no buffer of a message be smaller. */
#define MESSAGE 65536

#define DISPATCH(NAME)                                                                                                 \
	static cells_function function_##NAME(long long number)                                                        \
	{                                                                                                              \
		return (cells_function)lib25519_dispatch_##NAME(number);                                               \
	}

#define OPERATION(NAME, LENGTH, OUT, FIRST, SECOND, THIRD, PREPARE, CALL)                                              \
	{ #NAME,                                                                                                       \
	  LENGTH,                                                                                                      \
	  { OUT, FIRST, SECOND, THIRD },                                                                               \
	  lib25519_numimpl_##NAME,                                                                                     \
	  function_##NAME,                                                                                             \
	  lib25519_dispatch_##NAME##_implementation,                                                                   \
	  lib25519_dispatch_##NAME##_compiler,                                                                         \
	  PREPARE,                                                                                                     \
	  CALL }

DISPATCH(hashblocks_sha512)
DISPATCH(hash_sha512)
DISPATCH(pow_inv25519)
DISPATCH(powbatch_inv25519)
DISPATCH(nP_montgomery25519)
DISPATCH(nPbatch_montgomery25519)
DISPATCH(nG_merged25519)
DISPATCH(nG_montgomery25519)
DISPATCH(mGnP_ed25519)
DISPATCH(multiscalar_ed25519)
DISPATCH(dh_x25519)
DISPATCH(sign_ed25519)

/* Another's public key, and a secret key of ours. */
static void prepare_dh(long long number, struct cells_buffers *buffers)
{
	void (*keypair)(unsigned char *, unsigned char *) = lib25519_dispatch_dh_x25519_keypair(number);

	keypair(buffers->in[2], buffers->in[1]);
	keypair(buffers->in[0], buffers->in[2]);
}

static void prepare_sign(long long number, struct cells_buffers *buffers)
{
	unsigned char public[lib25519_sign_ed25519_PUBLICKEYBYTES];

	lib25519_dispatch_sign_ed25519_keypair(number)(public, buffers->in[1]);
}

static void call_sign(cells_function function, struct cells_buffers *b)
{
	void (*sign)(unsigned char *, long long *, const unsigned char *, long long, const unsigned char *) = (void (*)(
		unsigned char *, long long *, const unsigned char *, long long, const unsigned char *))function;
	long long length;

	cells_begin();
	sign(b->out, &length, b->in[0], b->length, b->in[1]);
	cells_end();
}

const struct cells_operation cells_operations[] = {
	OPERATION(hashblocks_sha512, HASHED, 64, MESSAGE, 0, 0, NULL, cells_call_o0l),
	OPERATION(hash_sha512, HASHED, 64, MESSAGE, 0, 0, NULL, cells_call_o0l),
	OPERATION(pow_inv25519, 32, 32, 32, 0, 0, NULL, cells_call_o0),
	OPERATION(powbatch_inv25519, BATCH, BATCH * 32, BATCH * 32, 0, 0, NULL, cells_call_o0l),
	OPERATION(nP_montgomery25519, 32, 32, 32, 32, 0, NULL, cells_call_o01),
	OPERATION(nPbatch_montgomery25519, BATCH, BATCH * 32, BATCH * 32, BATCH * 32, 0, NULL, cells_call_o01l),
	OPERATION(nG_merged25519, 32, 32, 32, 0, 0, NULL, cells_call_o0),
	OPERATION(nG_montgomery25519, 32, 32, 32, 0, 0, NULL, cells_call_o0),
	OPERATION(mGnP_ed25519, 33, 33, 32, 64, 32, NULL, cells_call_o012),
	OPERATION(multiscalar_ed25519, BATCH, BATCH * 33, BATCH * 32, BATCH * 32, 0, NULL, cells_call_o01l),
	OPERATION(dh_x25519, 32, 32, 32, 32, 32, prepare_dh, cells_call_o01),
	OPERATION(sign_ed25519, SIGNED, MESSAGE + 64, MESSAGE + 64, 64, 0, prepare_sign, call_sign),
};

const size_t cells_count = sizeof(cells_operations) / sizeof(cells_operations[0]);
