/* SPDX-License-Identifier: BSD-2-Clause */
/* What a client asks of the TA with regions, in the session of the app: measured.h says what each command does. */
#ifndef WORLDWISE_APPS_PKCS11_MEASURED_CLIENT_H
#define WORLDWISE_APPS_PKCS11_MEASURED_CLIENT_H

#include "../../common/app.h"
#include "measured.h"

static struct measured take(bool arm)
{
	struct measured found = { 0 };
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_VALUE_INPUT, TEEC_NONE,
							     TEEC_NONE) };

	op.params[0].tmpref.buffer = &found;
	op.params[0].tmpref.size = sizeof(found);
	op.params[1].value.a = arm;
	app_must(TEEC_InvokeCommand(&app_session, MEASURED_TAKE, &op, NULL), "counts of the TA", 0);
	return found;
}

/* The TA as after a boot: the next session is of a new instance. */
static void restart(void)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_NONE, TEEC_NONE, TEEC_NONE) };

	if (TEEC_InvokeCommand(&app_session, MEASURED_RESTART, &op, NULL) != TEEC_ERROR_TARGET_DEAD)
		bench_fail("the TA did not end");
	TEEC_CloseSession(&app_session);
}

#endif /* WORLDWISE_APPS_PKCS11_MEASURED_CLIENT_H */
