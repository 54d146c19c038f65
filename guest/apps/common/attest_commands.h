/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands that work on a session's key, which both TAs of the attestation have, for the operation `abuse`. */
#ifndef WORLDWISE_APPS_ATTEST_COMMANDS_H
#define WORLDWISE_APPS_ATTEST_COMMANDS_H

#include "../../ops/attest_ta.h"
#include "abuse.h"

#define ATTEST_POINT 64
#define ATTEST_SCALAR 32

/* The attestation's sizes are all fixed, and a wrong one is a wrong parameter, not a buffer that could be larger. */
#define ABUSE_EXACTLY(kind, bytes)                                                                                     \
	{ .type = (kind), .size = (bytes), .least = (bytes), .most = (bytes), .small = TEEC_ERROR_BAD_PARAMETERS }
#define ABUSE_EXACTLY_IN(bytes) ABUSE_EXACTLY(TEEC_MEMREF_TEMP_INPUT, bytes)
#define ABUSE_EXACTLY_OUT(bytes) ABUSE_EXACTLY(TEEC_MEMREF_TEMP_OUTPUT, bytes)

/* Their places in a table, and the rows there. `commands` is the table's name. The bytes for VERIFY are no signature. */
#define ATTEST_KEY_ROWS CALIBRATE, KEYGEN, EXPORT, SIGN, VERIFY
#define ATTEST_KEY_COMMANDS(commands)                                                                                  \
	[CALIBRATE] = { .name = "CALIBRATE",                                                                           \
			.command = ATTEST_CALIBRATE,                                                                   \
			.params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },                                              \
	[KEYGEN] = { .name = "KEYGEN",                                                                                 \
		     .command = ATTEST_KEYGEN,                                                                         \
		     .params = { ABUSE_NONE, ABUSE_NONE, ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },                           \
		     .seldom = true },                                                                                 \
	[EXPORT] = { .name = "EXPORT",                                                                                 \
		     .command = ATTEST_EXPORT,                                                                         \
		     .params = { ABUSE_EXACTLY_OUT(ATTEST_POINT), ABUSE_EXACTLY_OUT(ATTEST_SCALAR) },                  \
		     .before = &(commands)[KEYGEN] },                                                                  \
	[SIGN] = { .name = "SIGN",                                                                                     \
		   .command = ATTEST_SIGN,                                                                             \
		   .params = { ABUSE_IN(48, 0, ABUSE_NO_LIMIT), ABUSE_EXACTLY_OUT(ATTEST_POINT), ABUSE_VALUE_OUT,      \
			       ABUSE_VALUE_OUT },                                                                      \
		   .before = &(commands)[KEYGEN],                                                                      \
		   .seldom = true },                                                                                   \
	[VERIFY] = { .name = "VERIFY",                                                                                 \
		     .command = ATTEST_VERIFY,                                                                         \
		     .params = { ABUSE_IN(48, 0, ABUSE_NO_LIMIT), ABUSE_EXACTLY_IN(ATTEST_POINT), ABUSE_VALUE_OUT,     \
				 ABUSE_VALUE_OUT },                                                                    \
		     .before = &(commands)[KEYGEN],                                                                    \
		     .right = TEE_ERROR_SIGNATURE_INVALID,                                                             \
		     .seldom = true }

#endif /* WORLDWISE_APPS_ATTEST_COMMANDS_H */
