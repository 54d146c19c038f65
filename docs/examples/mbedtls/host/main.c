// SPDX-License-Identifier: BSD-2-Clause
// Asks the TA for each operation.
#include <stdio.h>
#include <tee_client_api.h>

#include "bench.h"
#include "work.h"

int main(void)
{
	TEEC_Context context;
	TEEC_Session session;
	TEEC_UUID uuid = BENCH_UUID;
	uint32_t origin;
	TEEC_Result result = TEEC_InitializeContext(NULL, &context);

	if (result)
		return 1;
	result = TEEC_OpenSession(&context, &session, &uuid, TEEC_LOGIN_PUBLIC, NULL, NULL, &origin);
	if (!result) {
		for (uint32_t which = 0; which < WORKS && !result; which++)
			result = TEEC_InvokeCommand(&session, which, NULL, &origin);
		TEEC_CloseSession(&session);
	}
	TEEC_FinalizeContext(&context);
	printf("%#x\n", result);
	return result != 0;
}
