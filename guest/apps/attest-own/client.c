/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of guest/optee/own-ta, the attestation's TA with a library of its own, for the operation `abuse`. */
#include "../../ops/attest_ta.h"
#include "../common/app.h"

#define POINT 64
#define SCALAR 32

/* As in guest/apps/attest. */
#define EXACTLY(kind, bytes)                                                                                           \
	{ .type = (kind), .size = (bytes), .least = (bytes), .most = (bytes), .small = TEEC_ERROR_BAD_PARAMETERS }
#define EXACTLY_IN(bytes) EXACTLY(TEEC_MEMREF_TEMP_INPUT, bytes)
#define EXACTLY_OUT(bytes) EXACTLY(TEEC_MEMREF_TEMP_OUTPUT, bytes)

enum { CALIBRATE, KEYGEN, EXPORT, SIGN, VERIFY, COMMANDS };

static const struct abuse_command commands[COMMANDS] = {
	[CALIBRATE] = { .name = "CALIBRATE",
			.command = ATTEST_CALIBRATE,
			.params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	[KEYGEN] = { .name = "KEYGEN",
		     .command = ATTEST_KEYGEN,
		     .params = { ABUSE_NONE, ABUSE_NONE, ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
		     .seldom = true },
	[EXPORT] = { .name = "EXPORT",
		     .command = ATTEST_EXPORT,
		     .params = { EXACTLY_OUT(POINT), EXACTLY_OUT(SCALAR) },
		     .before = &commands[KEYGEN] },
	[SIGN] = { .name = "SIGN",
		   .command = ATTEST_SIGN,
		   .params = { ABUSE_IN(48, 0, ABUSE_NO_LIMIT), EXACTLY_OUT(POINT), ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
		   .before = &commands[KEYGEN],
		   .seldom = true },
	/* The bytes that stand for a signature are none. */
	[VERIFY] = { .name = "VERIFY",
		     .command = ATTEST_VERIFY,
		     .params = { ABUSE_IN(48, 0, ABUSE_NO_LIMIT), EXACTLY_IN(POINT), ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
		     .before = &commands[KEYGEN],
		     .right = TEE_ERROR_SIGNATURE_INVALID,
		     .seldom = true },
};

const struct abuse_table app_abuse = { .commands = commands, .count = COMMANDS };

const struct app app = { .uuid = ATTEST_TA_UUID, .calibrate = ATTEST_CALIBRATE };
