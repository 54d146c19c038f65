/* SPDX-License-Identifier: BSD-2-Clause */
/* As much of libteec as server/tee_teec.c uses, over the shim: so that it is tested without a TEE, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tee_client_api.h>

#include "asked.h"
#include "keycache_ta.h"
#include "shim.h"

static bool running;
static bool dead;

static const char *folder(void)
{
	return getenv("KEYCACHE_NATIVE_DIR");
}

TEEC_Result TEEC_InitializeContext(const char *name, TEEC_Context *context)
{
	(void)context;
	return name || !folder() ? TEEC_ERROR_ITEM_NOT_FOUND : TEEC_SUCCESS;
}

void TEEC_FinalizeContext(TEEC_Context *context)
{
	(void)context;
}

TEEC_Result TEEC_AllocateSharedMemory(TEEC_Context *context, TEEC_SharedMemory *memory)
{
	(void)context;
	memory->buffer = calloc(1, memory->size);
	return memory->buffer ? TEEC_SUCCESS : TEEC_ERROR_OUT_OF_MEMORY;
}

void TEEC_ReleaseSharedMemory(TEEC_SharedMemory *memory)
{
	free(memory->buffer);
	memory->buffer = NULL;
}

TEEC_Result TEEC_OpenSession(TEEC_Context *context, TEEC_Session *session, const TEEC_UUID *destination,
			     uint32_t method, const void *data, TEEC_Operation *operation, uint32_t *origin)
{
	static const TEEC_UUID uuid = KEYCACHE_TA_UUID;
	const char *limit = getenv("KEYCACHE_NATIVE_LIMIT");

	(void)context;
	(void)session;
	(void)data;
	(void)operation;
	*origin = TEEC_ORIGIN_TEE;
	if (memcmp(destination, &uuid, sizeof(uuid)) != 0 || method != TEEC_LOGIN_USER)
		return TEEC_ERROR_ITEM_NOT_FOUND;
	if (shim_start(folder()))
		return TEEC_ERROR_GENERIC;
	if (limit)
		shim_storage_limit(strtoul(limit, NULL, 10));
	running = true;
	dead = false;
	return TEEC_SUCCESS;
}

void TEEC_CloseSession(TEEC_Session *session)
{
	(void)session;
	if (running && dead)
		shim_crash();
	else if (running)
		shim_stop();
	running = false;
}

static void refuse(const char *what)
{
	(void)fprintf(stderr, "teec: %s\n", what);
	abort();
}

/* What it points to, or NULL for a value; `kind` is the Internal Core API's type. */
static size_t *to_tee(uint32_t type, TEEC_Parameter *from, TEE_Param *to, uint32_t *kind)
{
	TEEC_RegisteredMemoryReference *part = &from->memref;

	switch (type) {
	case TEEC_VALUE_INPUT:
	case TEEC_VALUE_OUTPUT:
	case TEEC_VALUE_INOUT:
		to->value.a = from->value.a;
		to->value.b = from->value.b;
		*kind = type;
		return NULL;
	case TEEC_MEMREF_TEMP_INPUT:
		if (from->tmpref.size)
			refuse("memory that is not shared beforehand");
		to->memref.buffer = from->tmpref.buffer;
		to->memref.size = 0;
		*kind = TEE_PARAM_TYPE_MEMREF_INPUT;
		return &from->tmpref.size;
	case TEEC_MEMREF_PARTIAL_INPUT:
	case TEEC_MEMREF_PARTIAL_OUTPUT:
		if (part->offset > part->parent->size || part->size > part->parent->size - part->offset)
			refuse("a part that goes beyond the whole");
		to->memref.buffer = (uint8_t *)part->parent->buffer + part->offset;
		to->memref.size = part->size;
		*kind = type == TEEC_MEMREF_PARTIAL_INPUT ? TEE_PARAM_TYPE_MEMREF_INPUT : TEE_PARAM_TYPE_MEMREF_OUTPUT;
		return &part->size;
	default:
		*kind = TEE_PARAM_TYPE_NONE;
		return NULL;
	}
}

TEEC_Result TEEC_InvokeCommand(TEEC_Session *session, uint32_t command, TEEC_Operation *operation, uint32_t *origin)
{
	TEE_Param params[TEE_NUM_PARAMS] = { 0 };
	size_t *sizes[TEE_NUM_PARAMS] = { NULL };
	uint32_t kinds[TEE_NUM_PARAMS];
	TEEC_Result res;

	(void)session;
	(void)origin;
	for (int i = 0; i < TEE_NUM_PARAMS; i++)
		sizes[i] = to_tee(operation->paramTypes >> (4 * i) & 0xF, &operation->params[i], &params[i], &kinds[i]);
	if (command == KEYCACHE_DELETE && is_there("nodelete"))
		return TEEC_ERROR_STORAGE_NO_SPACE;
	if (asked_to("hang"))
		(void)pause();
	if (asked_to("slow"))
		(void)usleep(SLOW_US);
	if (asked_to("forget"))
		return KEYCACHE_NOT_CONFIGURED;
	if (asked_to("behind"))
		shim_set_behind("alice");
	if (asked_to("die")) {
		dead = true;
		return TEEC_ERROR_TARGET_DEAD;
	}
	res = shim_invoke(command, TEE_PARAM_TYPES(kinds[0], kinds[1], kinds[2], kinds[3]), params);
	for (int i = 0; i < TEE_NUM_PARAMS; i++) {
		if (sizes[i]) {
			*sizes[i] = params[i].memref.size;
		} else if (kinds[i] != TEE_PARAM_TYPE_NONE) {
			operation->params[i].value.a = params[i].value.a;
			operation->params[i].value.b = params[i].value.b;
		}
	}
	dead = res == TEEC_ERROR_TARGET_DEAD;
	return res;
}
