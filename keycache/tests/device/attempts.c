/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attempts of a normal world that was taken over (tests/ta/attempts.c), on a device: against its TA, over libteec. The TA
 * must not have an authority, and is left with one that nobody has: for a device that is made anew afterwards.
 */
#include <stdlib.h>
#include <tee_client_api.h>

#include "attempts.h"

static TEEC_Context context;
static TEEC_Session session;

static bool is_memory(uint32_t type)
{
	return type == MEMORY_IN || type == MEMORY_OUT;
}

/* The types of parameters have the same numbers on both sides. */
TEE_Result shim_invoke(uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	TEEC_Operation operation = { .paramTypes = types };
	TEEC_Result res;
	int i;

	for (i = 0; i < TEE_NUM_PARAMS; i++) {
		if (is_memory(TEE_PARAM_TYPE_GET(types, i)))
			operation.params[i].tmpref = (TEEC_TempMemoryReference){ params[i].memref.buffer,
										 params[i].memref.size };
		else
			operation.params[i].value = (TEEC_Value){ params[i].value.a, params[i].value.b };
	}
	res = TEEC_InvokeCommand(&session, command, &operation, NULL);
	for (i = 0; i < TEE_NUM_PARAMS; i++) {
		if (is_memory(TEE_PARAM_TYPE_GET(types, i)))
			params[i].memref.size = operation.params[i].tmpref.size;
		else
			params[i].value.a = operation.params[i].value.a;
		if (!is_memory(TEE_PARAM_TYPE_GET(types, i)))
			params[i].value.b = operation.params[i].value.b;
	}
	return res;
}

static void print(const struct outcome *outcome)
{
	attempt_print(outcome);
	(void)fflush(stdout);
}

int main(void)
{
	static const TEEC_UUID uuid = KEYCACHE_TA_UUID;
	unsigned int holding;
	uint32_t origin;
	TEEC_Result res = TEEC_InitializeContext(NULL, &context);

	if (!res)
		res = TEEC_OpenSession(&context, &session, &uuid, TEEC_LOGIN_USER, NULL, NULL, &origin);
	if (res) {
		(void)fprintf(stderr, "keycache-attempts: no session with the TA: 0x%08x\n", (unsigned int)res);
		return 2;
	}
	holding = attempts_make(print, NULL);
	TEEC_CloseSession(&session);
	TEEC_FinalizeContext(&context);
	printf("%u of %u attempts hold\n", holding, attempts_count(false));
	return holding != attempts_count(false) || failures() ? EXIT_FAILURE : EXIT_SUCCESS;
}
