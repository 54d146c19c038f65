/* SPDX-License-Identifier: BSD-2-Clause */
/* A portable implementation as a plain Linux program calls it: the same calls as in the TA. */
#include <string.h>

#include "../../../../bench/bench.h"
#include "../../../../operations/trial.h"
#include "../../../../optee-libraries/attest.h"

static uint8_t own_private[P256_BYTES];
static uint8_t own_public[2 * P256_BYTES];

static int open_ops(struct attest_ops *ops)
{
	const char *problem = trial_open();

	if (problem)
		bench_fail("%s: check failed: %s", ops->name, problem);
	return 0;
}

static int keygen(struct bench_span *inner)
{
	(void)inner;
	return ops_keygen(own_private, own_public);
}

static int export_key(uint8_t public_key[2 * P256_BYTES], uint8_t private_key[P256_BYTES])
{
	memcpy(public_key, own_public, sizeof(own_public));
	memcpy(private_key, own_private, sizeof(own_private));
	return 0;
}

static int sign(const uint8_t *message, size_t length, uint8_t signature[2 * P256_BYTES], struct bench_span *inner)
{
	(void)inner;
	return ops_sign(own_private, own_public, message, length, signature);
}

static int verify(const uint8_t *message, size_t length, const uint8_t signature[2 * P256_BYTES],
		  struct bench_span *inner)
{
	(void)inner;
	return ops_verify(own_public, message, length, signature);
}

static void close_ops(void)
{
}

struct attest_ops linux_ops = {
	.name = TRIAL_NAME,
	.open = open_ops,
	.keygen = keygen,
	.export_key = export_key,
	.sign = sign,
	.verify = verify,
	.close = close_ops,
};
