/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the TA of one scheme, for the operation `abuse`. */
#include "../common/abuse.h"
#include "pqc.h"

/* GlobalPlatform TEE Internal Core API. */
#define NOT_SUPPORTED ((TEEC_Result)0xFFFF000A)

#if PQC_IS_KEM
enum { CALIBRATE, GIVE, KEYGEN, PRIVATE_KEY, ENCAPS, DECAPS, DIGEST, MEMORY, COMMANDS };
#define TRIED PQC_DECAPS
#define LACKING PQC_SIGN

/* Polynomials of zeros are a key, as is any seed of the matrix; in the hybrid the base point of X25519 stands behind. */
static const uint8_t key[PQC_PUBLIC_BYTES] = { [PQC_PUBLIC_BYTES - 32] = 9 };
#else
enum { CALIBRATE, GIVE, KEYGEN, PRIVATE_KEY, SIGN, VERIFY, DIGEST, MEMORY, COMMANDS };
#define TRIED PQC_VERIFY
#define LACKING PQC_ENCAPS
#endif /* PQC_IS_KEM */

static const struct abuse_command commands[COMMANDS] = {
	[CALIBRATE] = { .name = "CALIBRATE", .command = PQC_CALIBRATE, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	[GIVE] = { .name = "GIVE",
		   .command = PQC_GIVE,
		   .params = { ABUSE_VALUE_IN(PQC_SEED, 0), ABUSE_EXACTLY_IN(PQC_SEED_BYTES) },
		   .values = { { 0, PQC_CONTEXT + 1, 0, TEEC_ERROR_BAD_PARAMETERS },
			       { 0, UINT32_MAX, 0, TEEC_ERROR_BAD_PARAMETERS },
			       { 0, PQC_SEED, 1, TEEC_ERROR_BAD_PARAMETERS },
			       { 0, PQC_PRIVATE, 0, TEEC_ERROR_BAD_PARAMETERS },
			       { 0, PQC_PUBLIC, 0, TEEC_ERROR_BAD_PARAMETERS } } },
	[KEYGEN] = { .name = "KEYGEN",
		     .command = PQC_KEYGEN,
		     .params = { ABUSE_OUT(PQC_PUBLIC_BYTES, PQC_PUBLIC_BYTES, ABUSE_NO_LIMIT), ABUSE_NONE,
				 ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
		     .seldom = true },
	[PRIVATE_KEY] = { .name = "PRIVATE_KEY",
			  .command = PQC_PRIVATE_KEY,
			  .params = { ABUSE_OUT(PQC_PRIVATE_BYTES, PQC_PRIVATE_BYTES, ABUSE_NO_LIMIT) },
			  .before = &commands[KEYGEN] },
#if PQC_IS_KEM
	[ENCAPS] = { .name = "ENCAPS",
		     .command = PQC_ENCAPS,
		     .params = { { .type = TEEC_MEMREF_TEMP_INPUT,
				   .size = PQC_PUBLIC_BYTES,
				   .least = PQC_PUBLIC_BYTES,
				   .most = PQC_PUBLIC_BYTES,
				   .content = key },
				 ABUSE_OUT(PQC_OUTPUT_BYTES + PQC_SECRET_BYTES, PQC_OUTPUT_BYTES + PQC_SECRET_BYTES,
					   ABUSE_NO_LIMIT),
				 ABUSE_VALUE_OUT,
				 ABUSE_VALUE_OUT },
		     .seldom = true },
	/* Any bytes have a secret. */
	[DECAPS] = { .name = "DECAPS",
		     .command = PQC_DECAPS,
		     .params = { ABUSE_IN(PQC_OUTPUT_BYTES, PQC_OUTPUT_BYTES, PQC_OUTPUT_BYTES),
				 ABUSE_OUT(PQC_SECRET_BYTES, PQC_SECRET_BYTES, ABUSE_NO_LIMIT), ABUSE_VALUE_OUT,
				 ABUSE_VALUE_OUT },
		     .before = &commands[KEYGEN],
		     .seldom = true },
#else
	[SIGN] = { .name = "SIGN",
		   .command = PQC_SIGN,
		   .params = { ABUSE_IN(32, 0, PQC_MESSAGE_BYTES),
			       ABUSE_OUT(PQC_OUTPUT_BYTES, PQC_OUTPUT_BYTES, ABUSE_NO_LIMIT), ABUSE_VALUE_OUT,
			       ABUSE_VALUE_OUT },
		   .before = &commands[KEYGEN],
		   .seldom = true },
	/* The bytes that VERIFY gets are no signature. */
	[VERIFY] = { .name = "VERIFY",
		     .command = PQC_VERIFY,
		     .params = { ABUSE_IN(32, 0, PQC_MESSAGE_BYTES),
				 ABUSE_IN(PQC_OUTPUT_BYTES, PQC_OUTPUT_BYTES, PQC_OUTPUT_BYTES), ABUSE_VALUE_OUT,
				 ABUSE_VALUE_OUT },
		     .before = &commands[KEYGEN],
		     .right = TEE_ERROR_SIGNATURE_INVALID,
		     .seldom = true },
#endif /* PQC_IS_KEM */
	[DIGEST] = { .name = "DIGEST",
		     .command = PQC_DIGEST,
		     .params = { ABUSE_IN(100, 1, ABUSE_NO_LIMIT), ABUSE_OUT(32, 32, ABUSE_NO_LIMIT) } },
	[MEMORY] = { .name = "MEMORY",
		     .command = PQC_MEMORY,
		     .params = { ABUSE_VALUE_IN(TRIED, 32), ABUSE_VALUE_OUT },
		     .seldom = true,
		     .values = { { 0, LACKING, 32, NOT_SUPPORTED },
				 { 0, UINT32_MAX, 32, NOT_SUPPORTED },
				 { 0, TRIED, PQC_MESSAGE_BYTES + 1, TEEC_ERROR_BAD_PARAMETERS } } },
};
const struct abuse_table app_abuse = { .commands = commands, .count = COMMANDS };
