/* SPDX-License-Identifier: BSD-2-Clause */
/* Ed25519 of c25519, as RIOT's benchmark calls it: a message of 32 bytes. */
#include "cells.h"
#include "edsign.h"
#include "mcu_cells.h"

#define KEY 32
#define MESSAGE 32
#define SIGNATURE 64

/* Our secret key, and our public one. */
static void prepare(long long number, struct cells_buffers *b)
{
	(void)number;
	edsign_sec_to_pub(b->in[1], b->in[0]);
}

static void prepare_signature(long long number, struct cells_buffers *b)
{
	prepare(number, b);
	edsign_sign(b->out, b->in[1], b->in[0], b->in[2], MESSAGE);
}

static void call_sign(cells_function function, struct cells_buffers *b)
{
	(void)function;
	cells_begin();
	edsign_sign(b->out, b->in[1], b->in[0], b->in[2], MESSAGE);
	cells_end();
}

static void call_verify(cells_function function, struct cells_buffers *b)
{
	int right;

	(void)function;
	cells_begin();
	right = edsign_verify(b->out, b->in[1], b->in[2], MESSAGE);
	cells_end();
	mcu_require(right);
}

const struct cells_operation cells_operations[] = {
	MCU_OPERATION("sign", MESSAGE, SIGNATURE, KEY, KEY, MESSAGE, prepare, call_sign, mcu_compiled),
	MCU_OPERATION("verify", MESSAGE, SIGNATURE, KEY, KEY, MESSAGE, prepare_signature, call_verify, mcu_compiled),
};

const size_t cells_count = sizeof(cells_operations) / sizeof(cells_operations[0]);
