/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of the attestation's TA, of guest/optee/ta, for the operation `abuse`; what it is measured by is
 * guest/optee/client.c.
 */
#include "../common/app.h"
#include "../common/attest_commands.h"

enum {
	EMPTY,
	ATTEST_KEY_ROWS,
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
	ATTEST_KEY_COMMANDS(commands),
	[ENABLE] = { .name = "COUNTER_ENABLE", .command = ATTEST_COUNTER_ENABLE },
	[RESTORE] = { .name = "COUNTER_RESTORE", .command = ATTEST_COUNTER_RESTORE, .before = &commands[ENABLE] },
	[COUNTER] = { .name = "COUNTER", .command = ATTEST_COUNTER, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	[CYCLES] = { .name = "CALIBRATE_CYCLES",
		     .command = ATTEST_CALIBRATE_CYCLES,
		     .params = { ABUSE_EXACTLY_OUT(sizeof(struct attest_overheads)) },
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
	[SPANS] = { .name = "SPANS",
		    .command = ATTEST_SPANS,
		    .params = { ABUSE_EXACTLY_OUT(sizeof(struct attest_spans)) } },
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
