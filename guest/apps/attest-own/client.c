/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of guest/optee/own-ta, the attestation's TA with a library of its own, for the operation `abuse`. */
#include "../common/app.h"
#include "../common/attest_commands.h"

enum { ATTEST_KEY_ROWS, COMMANDS };

static const struct abuse_command commands[COMMANDS] = {
	ATTEST_KEY_COMMANDS(commands),
};

const struct abuse_table app_abuse = { .commands = commands, .count = COMMANDS };

const struct app app = { .uuid = ATTEST_TA_UUID, .calibrate = ATTEST_CALIBRATE };
