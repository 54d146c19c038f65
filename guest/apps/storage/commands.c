/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's commands, for the operation `abuse`. */
#include "../common/abuse.h"
#include "../common/app.h"
#include "storage.h"

#define WHERE ABUSE_VALUE_IN(STORAGE_REE, STORAGE_OBJECT)
#define SPAN ABUSE_VALUE_OUT, ABUSE_VALUE_OUT
/* Numbers and storages that there are not. */
#define WRONG_OBJECT { 1, STORAGE_REE, STORAGE_OBJECTS, TEEC_ERROR_BAD_PARAMETERS }
#define WRONG_STORAGE { 1, STORAGE_RPMB + 1, STORAGE_OBJECT, TEEC_ERROR_ITEM_NOT_FOUND }
/* What an object has in a right call. */
#define BYTES 100

enum { CREATE, READ, OVERWRITE, APPEND, RENAME, ENUMERATE, DELETE, TRUNCATE, CALIBRATE, COMMANDS };

static const struct abuse_command delete_renamed = {
	.name = "DELETE",
	.command = STORAGE_DELETE,
	.params = { ABUSE_NONE, ABUSE_VALUE_IN(STORAGE_REE, STORAGE_RENAMED), SPAN },
};

static const struct abuse_command commands[COMMANDS] = {
	[CREATE] = { .name = "CREATE",
		     .command = STORAGE_CREATE,
		     .params = { { .type = TEEC_MEMREF_TEMP_INPUT,
				   .size = BYTES,
				   .least = 1,
				   .most = STORAGE_BYTES,
				   .large = TEEC_ERROR_EXCESS_DATA },
				 WHERE,
				 SPAN },
		     .undo = &commands[DELETE],
		     .values = { WRONG_OBJECT, WRONG_STORAGE } },
	[READ] = { .name = "READ",
		   .command = STORAGE_READ,
		   .params = { { .type = TEEC_MEMREF_TEMP_OUTPUT,
				 .size = BYTES,
				 .least = BYTES,
				 .most = STORAGE_BYTES,
				 .zero = TEEC_ERROR_BAD_PARAMETERS,
				 .large = TEEC_ERROR_EXCESS_DATA },
			       WHERE,
			       SPAN },
		   .before = &commands[CREATE],
		   .without = TEEC_ERROR_ITEM_NOT_FOUND,
		   .values = { WRONG_OBJECT, WRONG_STORAGE } },
	[OVERWRITE] = { .name = "OVERWRITE",
			.command = STORAGE_OVERWRITE,
			.params = { ABUSE_IN(BYTES / 2, 1, BYTES), WHERE, SPAN },
			.before = &commands[CREATE],
			.without = TEEC_ERROR_ITEM_NOT_FOUND,
			.values = { WRONG_OBJECT, WRONG_STORAGE } },
	[APPEND] = { .name = "APPEND",
		     .command = STORAGE_APPEND,
		     .params = { { .type = TEEC_MEMREF_TEMP_INPUT,
				   .size = BYTES,
				   .least = 1,
				   .most = STORAGE_BYTES - BYTES,
				   .large = TEE_ERROR_OVERFLOW },
				 WHERE,
				 SPAN },
		     .before = &commands[CREATE],
		     .without = TEEC_ERROR_ITEM_NOT_FOUND,
		     .values = { WRONG_OBJECT, WRONG_STORAGE } },
	[RENAME] = { .name = "RENAME",
		     .command = STORAGE_RENAME,
		     .params = { ABUSE_VALUE_IN(STORAGE_RENAMED, 0), WHERE, SPAN },
		     .before = &commands[CREATE],
		     .without = TEEC_ERROR_ITEM_NOT_FOUND,
		     .undo = &delete_renamed,
		     .values = { WRONG_OBJECT,
				 WRONG_STORAGE,
				 { 0, STORAGE_OBJECTS, 0, TEEC_ERROR_BAD_PARAMETERS },
				 { 0, STORAGE_OBJECT, 0, TEEC_ERROR_ACCESS_CONFLICT } } },
	[ENUMERATE] = { .name = "ENUMERATE",
			.command = STORAGE_ENUMERATE,
			.params = { ABUSE_VALUE_OUT, ABUSE_VALUE_IN(STORAGE_REE, 0), SPAN },
			.values = { { 1, STORAGE_REE, 1, TEEC_ERROR_BAD_PARAMETERS }, WRONG_STORAGE } },
	[DELETE] = { .name = "DELETE",
		     .command = STORAGE_DELETE,
		     .params = { ABUSE_NONE, WHERE, SPAN },
		     .before = &commands[CREATE],
		     .without = TEEC_ERROR_ITEM_NOT_FOUND,
		     .values = { WRONG_OBJECT, WRONG_STORAGE } },
	[TRUNCATE] = { .name = "TRUNCATE",
		       .command = STORAGE_TRUNCATE,
		       .params = { ABUSE_VALUE_IN(BYTES / 2, 0), WHERE, SPAN },
		       .before = &commands[CREATE],
		       .without = TEEC_ERROR_ITEM_NOT_FOUND,
		       .values = { WRONG_OBJECT,
				   WRONG_STORAGE,
				   { 0, 0, 0, TEEC_ERROR_BAD_PARAMETERS },
				   { 0, BYTES + 1, 0, TEEC_ERROR_BAD_PARAMETERS } } },
	[CALIBRATE] = { .name = "CALIBRATE",
			.command = STORAGE_CALIBRATE,
			.params = { ABUSE_VALUE_OUT, ABUSE_VALUE_OUT } },
};

/* Random calls make objects of any number. */
static void clean(void)
{
	for (uint32_t object = 0; object < STORAGE_OBJECTS; object++) {
		TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT,
								     TEEC_VALUE_OUTPUT) };

		op.params[1].value.a = STORAGE_REE;
		op.params[1].value.b = object;
		(void)TEEC_InvokeCommand(&app_session, STORAGE_DELETE, &op, NULL);
	}
}

const struct abuse_table app_abuse = { .commands = commands, .count = COMMANDS, .clean = clean };
