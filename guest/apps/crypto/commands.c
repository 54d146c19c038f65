/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the TA for P-256, which is the one that the operation `abuse` takes. */
#include "../common/abuse.h"
#include "crypto.h"

/* GlobalPlatform TEE Internal Core API. */
#define NOT_SUPPORTED ((TEEC_Result)0xFFFF000A)

#define P256_PRIVATE 32
#define P256_PUBLIC 64
#define P256_SIGNATURE 64

/* The generator, as a peer that is on the curve. */
static const uint8_t generator[P256_PUBLIC] = {
	0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40, 0xf2,
	0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96,
	0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16,
	0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5,
};

#define KEYGEN (&commands[0])

static const struct abuse_command commands[] = {
	{ .name = "KEYGEN",
	  .command = CRYPTO_KEYGEN,
	  .params = { ABUSE_OUT(P256_PUBLIC, P256_PUBLIC, ABUSE_NO_LIMIT),
		      ABUSE_OUT(P256_PRIVATE, P256_PRIVATE, ABUSE_NO_LIMIT) },
	  .seldom = true },
	{ .name = "CALIBRATE", .command = CRYPTO_CALIBRATE, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	{ .name = "CHECK",
	  .command = CRYPTO_CHECK,
	  .params = { ABUSE_VALUE_IN(CRYPTO_VERIFY, 0),
		      ABUSE_OUT(CRYPTO_CHECK_BYTES, CRYPTO_CHECK_BYTES, ABUSE_NO_LIMIT) },
	  .seldom = true,
	  .values = { { 0, CRYPTO_DIGEST, 0, NOT_SUPPORTED }, { 0, UINT32_MAX, 0, NOT_SUPPORTED } } },
	{ .name = "SIGN",
	  .command = CRYPTO_SIGN,
	  .params = { ABUSE_IN(48, 1, CRYPTO_MESSAGE_BYTES), ABUSE_OUT(P256_SIGNATURE, P256_SIGNATURE, ABUSE_NO_LIMIT),
		      ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
	  .before = KEYGEN,
	  .seldom = true },
	{ .name = "VERIFY",
	  .command = CRYPTO_VERIFY,
	  .params = { ABUSE_IN(48, 1, CRYPTO_MESSAGE_BYTES), ABUSE_IN(P256_SIGNATURE, P256_SIGNATURE, P256_SIGNATURE),
		      ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
	  .before = KEYGEN,
	  .right = TEE_ERROR_SIGNATURE_INVALID,
	  .seldom = true },
	{ .name = "ECDH",
	  .command = CRYPTO_ECDH,
	  .params = { { .type = TEEC_MEMREF_TEMP_INPUT,
			.size = P256_PUBLIC,
			.least = P256_PUBLIC,
			.most = P256_PUBLIC,
			.content = generator },
		      ABUSE_OUT(P256_PRIVATE, P256_PRIVATE, ABUSE_NO_LIMIT),
		      ABUSE_VALUE_OUT,
		      ABUSE_VALUE_OUT },
	  .before = KEYGEN,
	  .seldom = true },
	{ .name = "DIGEST",
	  .command = CRYPTO_DIGEST,
	  .params = { ABUSE_IN(48, 1, ABUSE_NO_LIMIT), ABUSE_OUT(32, 32, ABUSE_NO_LIMIT), ABUSE_VALUE_OUT,
		      ABUSE_VALUE_OUT },
	  .right = NOT_SUPPORTED },
	{ .name = "MEMORY",
	  .command = CRYPTO_MEMORY,
	  .params = { ABUSE_VALUE_IN(CRYPTO_SIGN, 48), ABUSE_VALUE_OUT },
	  .seldom = true,
	  .values = { { 0, CRYPTO_DIGEST, 48, NOT_SUPPORTED },
		      { 0, UINT32_MAX, 48, NOT_SUPPORTED },
		      { 0, CRYPTO_SIGN, CRYPTO_MESSAGE_BYTES + 1, TEEC_ERROR_BAD_PARAMETERS } } },
	{ .name = "RANDOM",
	  .command = CRYPTO_RANDOM,
	  .params = { ABUSE_VALUE_IN(1, 0) },
	  .values = { { 0, 2, 0, TEEC_ERROR_BAD_PARAMETERS }, { 0, 1, 1, TEEC_ERROR_BAD_PARAMETERS } } },
};
const struct abuse_table app_abuse = { .commands = commands, .count = sizeof(commands) / sizeof(commands[0]) };
