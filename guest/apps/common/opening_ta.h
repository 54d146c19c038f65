/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of a TA for which nothing is to do before a session's first command. Its one C file includes this. */
#ifndef WORLDWISE_APPS_OPENING_TA_H
#define WORLDWISE_APPS_OPENING_TA_H

#include "app_ta.h"

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	(void)params;
	(void)context;
	return types == TEE_PARAM_TYPES(NONE, NONE, NONE, NONE) ? TEE_SUCCESS : TEE_ERROR_BAD_PARAMETERS;
}

#endif /* WORLDWISE_APPS_OPENING_TA_H */
