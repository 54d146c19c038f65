/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of the attestation's TA, of guest/optee/ta, for the operation `abuse`; what it is measured by is
 * guest/optee/client.c.
 */
#include "../../ops/attest_ta.h"
#include "../common/app.h"

#define POINT 64
#define SCALAR 32

/* The attestation's sizes are all fixed, and a wrong one is a wrong parameter, not a buffer that could be larger. */
#define EXACTLY(kind, bytes)                                                                                           \
	{ .type = (kind), .size = (bytes), .least = (bytes), .most = (bytes), .small = TEEC_ERROR_BAD_PARAMETERS }
#define EXACTLY_IN(bytes) EXACTLY(TEEC_MEMREF_TEMP_INPUT, bytes)
#define EXACTLY_OUT(bytes) EXACTLY(TEEC_MEMREF_TEMP_OUTPUT, bytes)

enum {
	EMPTY,
	CALIBRATE,
	KEYGEN,
	EXPORT,
	SIGN,
	VERIFY,
	ENABLE,
	RESTORE,
	COUNTER,
	CYCLES,
	UPDATE,
	FINAL,
	TOUCH,
	SPANS,
	CREATE,
	READ,
	DELETE,
	COMMANDS
};

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
	[ENABLE] = { .name = "COUNTER_ENABLE", .command = ATTEST_COUNTER_ENABLE },
	[RESTORE] = { .name = "COUNTER_RESTORE", .command = ATTEST_COUNTER_RESTORE, .before = &commands[ENABLE] },
	[COUNTER] = { .name = "COUNTER", .command = ATTEST_COUNTER, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	[CYCLES] = { .name = "CALIBRATE_CYCLES",
		     .command = ATTEST_CALIBRATE_CYCLES,
		     .params = { EXACTLY_OUT(sizeof(struct attest_overheads)) },
		     .before = &commands[ENABLE],
		     .ends = &commands[RESTORE] },
	[UPDATE] = { .name = "DIGEST_UPDATE",
		     .command = ATTEST_DIGEST_UPDATE,
		     .params = { ABUSE_IN(100, 0, ABUSE_NO_LIMIT) },
		     .before = &commands[ENABLE],
		     .ends = &commands[RESTORE] },
	[FINAL] = { .name = "DIGEST_FINAL",
		    .command = ATTEST_DIGEST_FINAL,
		    .params = { ABUSE_IN(100, 0, ABUSE_NO_LIMIT), ABUSE_OUT(32, 32, ABUSE_NO_LIMIT) },
		    .before = &commands[ENABLE],
		    .ends = &commands[RESTORE] },
	[TOUCH] = { .name = "TOUCH", .command = ATTEST_TOUCH, .any = true },
	[SPANS] = { .name = "SPANS", .command = ATTEST_SPANS, .params = { EXACTLY_OUT(sizeof(struct attest_spans)) } },
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

const struct app app = { .uuid = ATTEST_TA_UUID, .calibrate = ATTEST_CALIBRATE };
