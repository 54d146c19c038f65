// SPDX-License-Identifier: BSD-2-Clause
#include <tee_internal_api.h>

#include "checksum.h"
#include "crc32.h"

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
	if (command != CHECKSUM_OF ||
		types != TEE_PARAM_TYPES(TEE_PARAM_TYPE_MEMREF_INPUT, TEE_PARAM_TYPE_VALUE_OUTPUT, 0, 0))
		return TEE_ERROR_BAD_PARAMETERS;
	params[1].value.a = crc32(params[0].memref.buffer, params[0].memref.size);
	return TEE_SUCCESS;
}
