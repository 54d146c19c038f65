// SPDX-License-Identifier: BSD-2-Clause
#include <tee_internal_api.h>

#include "bench.h"
#include "work.h"

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **session)
{
	(void)types;
	(void)params;
	(void)session;
	return TEE_SUCCESS;
}

void TA_CloseSessionEntryPoint(void *session)
{
	(void)session;
}

TEE_Result TA_InvokeCommandEntryPoint(void *session, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	(void)types;
	(void)params;
	return work(command) ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}
