// SPDX-License-Identifier: BSD-2-Clause
// Asks the TA for the checksum of a kilobyte, twice: the second call is a warm one.
#include <stdio.h>
#include <tee_client_api.h>

#include "checksum.h"

static uint8_t message[1024];

int main(void)
{
	TEEC_Context context;
	TEEC_Session session;
	TEEC_UUID uuid = CHECKSUM_UUID;
	TEEC_Operation operation = {
		.paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_VALUE_OUTPUT, TEEC_NONE, TEEC_NONE),
		.params[0].tmpref = { message, sizeof(message) },
	};
	uint32_t origin;
	int status = 1;

	for (size_t at = 0; at < sizeof(message); at++)
		message[at] = (uint8_t)at;
	if (TEEC_InitializeContext(NULL, &context))
		return status;
	if (!TEEC_OpenSession(&context, &session, &uuid, TEEC_LOGIN_PUBLIC, NULL, NULL, &origin)) {
		status = TEEC_InvokeCommand(&session, CHECKSUM_OF, &operation, &origin) ||
				 TEEC_InvokeCommand(&session, CHECKSUM_OF, &operation, &origin);
		printf("%08x\n", operation.params[1].value.a);
		TEEC_CloseSession(&session);
	}
	TEEC_FinalizeContext(&context);
	return status;
}
