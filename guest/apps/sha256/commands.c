/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's commands, for the operation `abuse`. */
#include "../common/abuse.h"
#include "sha256.h"

enum { EMPTY, TOUCH, ENABLE, RESTORE, COUNTER, CALIBRATE, UPDATE, FINAL, SPANS, COMMANDS };

static const struct abuse_command commands[COMMANDS] = {
	[EMPTY] = { .name = "EMPTY", .command = SHA256_EMPTY },
	[TOUCH] = { .name = "TOUCH", .command = SHA256_TOUCH, .any = true },
	[ENABLE] = { .name = "COUNTER_ENABLE", .command = SHA256_COUNTER_ENABLE },
	[RESTORE] = { .name = "COUNTER_RESTORE", .command = SHA256_COUNTER_RESTORE, .before = &commands[ENABLE] },
	[COUNTER] = { .name = "COUNTER", .command = SHA256_COUNTER, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	[CALIBRATE] = { .name = "CALIBRATE",
			.command = SHA256_CALIBRATE,
			.params = { ABUSE_EXACTLY_OUT(sizeof(struct sha256_overheads)) },
			.before = &commands[ENABLE],
			.ends = &commands[RESTORE] },
	[UPDATE] = { .name = "UPDATE",
		     .command = SHA256_UPDATE,
		     .params = { ABUSE_IN(100, 0, ABUSE_NO_LIMIT) },
		     .before = &commands[ENABLE],
		     .ends = &commands[RESTORE] },
	[FINAL] = { .name = "FINAL",
		    .command = SHA256_FINAL,
		    .params = { ABUSE_IN(100, 0, ABUSE_NO_LIMIT), ABUSE_OUT(32, 32, ABUSE_NO_LIMIT) },
		    .before = &commands[ENABLE],
		    .ends = &commands[RESTORE] },
	[SPANS] = { .name = "SPANS",
		    .command = SHA256_SPANS,
		    .params = { ABUSE_EXACTLY_OUT(sizeof(struct sha256_spans)) } },
};

const struct abuse_table app_abuse = { .commands = commands, .count = COMMANDS };
