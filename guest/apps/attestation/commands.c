/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's commands, for the operation `abuse`. */
#include "../common/abuse.h"
#include "attestation.h"

enum { EMPTY, CALIBRATE, KEYGEN, EXPORT, SIGN, VERIFY, CREATE, READ, DELETE, COMMANDS };

/* The bytes that VERIFY gets are no signature. */
static const struct abuse_command commands[COMMANDS] = {
	[EMPTY] = { .name = "EMPTY", .command = ATTEST_EMPTY },
	[CALIBRATE] = { .name = "CALIBRATE",
			.command = ATTEST_CALIBRATE,
			.params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	[KEYGEN] = { .name = "KEYGEN",
		     .command = ATTEST_KEYGEN,
		     .params = { ABUSE_NONE, ABUSE_NONE, ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
		     .seldom = true },
	[EXPORT] = { .name = "EXPORT",
		     .command = ATTEST_EXPORT,
		     .params = { ABUSE_EXACTLY_OUT(ATTEST_POINT), ABUSE_EXACTLY_OUT(ATTEST_SCALAR) },
		     .before = &commands[KEYGEN] },
	[SIGN] = { .name = "SIGN",
		   .command = ATTEST_SIGN,
		   .params = { ABUSE_IN(48, 0, ABUSE_NO_LIMIT), ABUSE_EXACTLY_OUT(ATTEST_POINT), ABUSE_VALUE_OUT,
			       ABUSE_VALUE_OUT },
		   .before = &commands[KEYGEN],
		   .seldom = true },
	[VERIFY] = { .name = "VERIFY",
		     .command = ATTEST_VERIFY,
		     .params = { ABUSE_IN(48, 0, ABUSE_NO_LIMIT), ABUSE_EXACTLY_IN(ATTEST_POINT), ABUSE_VALUE_OUT,
				 ABUSE_VALUE_OUT },
		     .before = &commands[KEYGEN],
		     .right = TEE_ERROR_SIGNATURE_INVALID,
		     .seldom = true },
	[CREATE] = { .name = "STORAGE_CREATE",
		     .command = ATTEST_STORAGE_CREATE,
		     .params = { ABUSE_IN(100, 0, ATTEST_OBJECT_BYTES), ABUSE_NONE, ABUSE_VALUE_OUT, ABUSE_VALUE_OUT },
		     .seldom = true },
	[READ] = { .name = "STORAGE_READ",
		   .command = ATTEST_STORAGE_READ,
		   .params = { ABUSE_OUT(100, 0, ATTEST_OBJECT_BYTES) },
		   .before = &commands[CREATE],
		   .seldom = true },
	[DELETE] = { .name = "STORAGE_DELETE",
		     .command = ATTEST_STORAGE_DELETE,
		     .before = &commands[CREATE],
		     .seldom = true },
};

const struct abuse_table app_abuse = {
	.commands = commands,
	.count = COMMANDS,
	.left_out = ATTEST_PANIC,
	.left_out_because = "PANIC panics by design: the tests use it to see what a panic looks like",
};
