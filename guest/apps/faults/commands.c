/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's commands, for the operation `abuse`. */
#include "../common/abuse.h"
#include "../common/app.h"
#include "faults.h"

#define WHERE ABUSE_VALUE_IN(FAULTS_REE, 0)
#define NAME_BYTES 8
#define NAME(which)                                                                                                    \
	{ .type = TEEC_MEMREF_TEMP_INPUT, .size = NAME_BYTES, .least = 1, .most = FAULTS_MAX_ID, .content = (which) }
#define CONTENT ABUSE_IN(BYTES, 1, FAULTS_MAX_OBJECT)
/* A storage that there is not, and one that is named wrongly. */
#define WRONG_STORAGES                                                                                                 \
	{ 0, FAULTS_RPMB + 1, 0, TEEC_ERROR_BAD_PARAMETERS },                                                          \
	{                                                                                                              \
		0, FAULTS_REE, 1, TEEC_ERROR_BAD_PARAMETERS                                                            \
	}
/* What an object has in a right call. */
#define BYTES 100

static const char name[NAME_BYTES] = "an-abuse";
static const char renamed[NAME_BYTES] = "its-name";

enum { CREATE, OVERWRITE, APPEND, RENAME, DELETE, REPLACE, READ, CALIBRATE, COMMANDS };

static const struct abuse_command delete_renamed = {
	.name = "DELETE",
	.command = FAULTS_DELETE,
	.params = { WHERE, NAME(renamed) },
};

static const struct abuse_command commands[COMMANDS] = {
	[CREATE] = { .name = "CREATE",
		     .command = FAULTS_CREATE,
		     .params = { WHERE, NAME(name), CONTENT },
		     .undo = &commands[DELETE],
		     .values = { WRONG_STORAGES } },
	[OVERWRITE] = { .name = "OVERWRITE",
			.command = FAULTS_OVERWRITE,
			.params = { WHERE, NAME(name), CONTENT },
			.before = &commands[CREATE],
			.without = TEEC_ERROR_ITEM_NOT_FOUND,
			.values = { WRONG_STORAGES } },
	[APPEND] = { .name = "APPEND",
		     .command = FAULTS_APPEND,
		     .params = { WHERE, NAME(name), CONTENT },
		     .before = &commands[CREATE],
		     .without = TEEC_ERROR_ITEM_NOT_FOUND,
		     .values = { WRONG_STORAGES } },
	[RENAME] = { .name = "RENAME",
		     .command = FAULTS_RENAME,
		     .params = { WHERE, NAME(name), NAME(renamed) },
		     .before = &commands[CREATE],
		     .without = TEEC_ERROR_ITEM_NOT_FOUND,
		     .undo = &delete_renamed,
		     .values = { WRONG_STORAGES } },
	[DELETE] = { .name = "DELETE",
		     .command = FAULTS_DELETE,
		     .params = { WHERE, NAME(name) },
		     .before = &commands[CREATE],
		     .without = TEEC_ERROR_ITEM_NOT_FOUND,
		     .values = { WRONG_STORAGES } },
	[REPLACE] = { .name = "REPLACE",
		      .command = FAULTS_REPLACE,
		      .params = { WHERE, NAME(name), CONTENT },
		      .undo = &commands[DELETE],
		      .values = { WRONG_STORAGES } },
	[READ] = { .name = "READ",
		   .command = FAULTS_READ,
		   .params = { WHERE,
			       NAME(name),
			       { .type = TEEC_MEMREF_TEMP_OUTPUT,
				 .size = BYTES,
				 .least = BYTES,
				 .most = FAULTS_MAX_OBJECT,
				 .zero = TEEC_ERROR_BAD_PARAMETERS } },
		   .before = &commands[CREATE],
		   .without = TEEC_ERROR_ITEM_NOT_FOUND,
		   .values = { WRONG_STORAGES } },
	[CALIBRATE] = { .name = "CALIBRATE",
			.command = FAULTS_CALIBRATE,
			.params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
};

/* The names of right calls; objects of other names are in nobody's way. */
static void clean(void)
{
	const char *const names[] = { name, renamed };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_MEMREF_TEMP_INPUT,
								     TEEC_NONE, TEEC_NONE) };

		op.params[0].value.a = FAULTS_REE;
		op.params[1].tmpref.buffer = (void *)(uintptr_t)names[i];
		op.params[1].tmpref.size = NAME_BYTES;
		(void)TEEC_InvokeCommand(&app_session, FAULTS_DELETE, &op, NULL);
	}
}

const struct abuse_table app_abuse = { .commands = commands, .count = COMMANDS, .clean = clean };
