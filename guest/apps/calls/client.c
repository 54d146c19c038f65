/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/prctl.h>

#include "../common/abuse.h"
#include "calls.h"
#include "calls_client.h"

static void run(const struct bench_plan *plan)
{
	/* Whether a buffer gets huge pages depends on where it happens to lie, and with them it costs less to share. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		bench_fail("huge pages cannot be switched off");
	if (!strcmp(plan->operation, "payload"))
		payload_case(plan);
	else
		call_case(plan);
}

#define VALUE ABUSE_VALUE_IN(1, 2)
#define PAYLOAD ABUSE_IN(100, 0, ABUSE_NO_LIMIT)

static const struct abuse_command commands[] = {
	{ .name = "CALIBRATE", .command = CALLS_CALIBRATE, .params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	{ .name = "VALUES", .command = CALLS_VALUES },
	{ .name = "VALUES + 1", .command = CALLS_VALUES + 1, .params = { VALUE } },
	{ .name = "VALUES + 2", .command = CALLS_VALUES + 2, .params = { VALUE, VALUE } },
	{ .name = "VALUES + 3", .command = CALLS_VALUES + 3, .params = { VALUE, VALUE, VALUE } },
	{ .name = "VALUES + 4", .command = CALLS_VALUES + 4, .params = { VALUE, VALUE, VALUE, VALUE } },
	{ .name = "SHARE", .command = CALLS_SHARE, .params = { PAYLOAD } },
	{ .name = "SHARE + 1", .command = CALLS_SHARE + 1, .params = { PAYLOAD, VALUE } },
	{ .name = "SHARE + 2", .command = CALLS_SHARE + 2, .params = { PAYLOAD, VALUE, VALUE } },
	{ .name = "SHARE + 3", .command = CALLS_SHARE + 3, .params = { PAYLOAD, VALUE, VALUE, VALUE } },
	{ .name = "READ",
	  .command = CALLS_READ,
	  .params = { ABUSE_IN(100, 1, ABUSE_NO_LIMIT), ABUSE_NONE, ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
	{ .name = "LAST",
	  .before = &commands[10],
	  .command = CALLS_LAST,
	  .params = { ABUSE_OUT(CALLS_BLOCK, CALLS_BLOCK, ABUSE_NO_LIMIT) } },
	{ .name = "HASH", .command = CALLS_HASH, .params = { ABUSE_IN(100, 1, ABUSE_NO_LIMIT), ABUSE_VALUE_OUT } },
};
const struct abuse_table app_abuse = { .commands = commands, .count = sizeof(commands) / sizeof(commands[0]) };

const struct app app = { .uuid = CALLS_TA_UUID, .calibrate = CALLS_CALIBRATE, .run = run };
