/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TA behind libteec. One piece of shared memory is made at the start and carries the parameters of every call: libteec
 * would otherwise allocate and register memory for each of them, which costs more than most commands do.
 */
#include <string.h>
#include <tee_client_api.h>

#include "tee.h"

#define ALIGNMENT 64u
#define SHARED_BYTES (256u * 1024u)

static TEEC_Context context;
static TEEC_Session session;
static TEEC_SharedMemory shared;

static uint32_t open_session(void)
{
	static const TEEC_UUID uuid = KEYCACHE_TA_UUID;
	uint32_t origin;
	TEEC_Result res = TEEC_InitializeContext(NULL, &context);

	if (res)
		return res;
	shared = (TEEC_SharedMemory){ .size = SHARED_BYTES, .flags = TEEC_MEM_INPUT | TEEC_MEM_OUTPUT };
	res = TEEC_AllocateSharedMemory(&context, &shared);
	if (res) {
		TEEC_FinalizeContext(&context);
		return res;
	}
	/* The TA serves one user only: see keycache_ta.h, CONFIGURE. */
	res = TEEC_OpenSession(&context, &session, &uuid, TEEC_LOGIN_USER, NULL, NULL, &origin);
	if (res) {
		TEEC_ReleaseSharedMemory(&shared);
		TEEC_FinalizeContext(&context);
	}
	return res;
}

static void close_session(void)
{
	TEEC_CloseSession(&session);
	memset(shared.buffer, 0, shared.size);
	TEEC_ReleaseSharedMemory(&shared);
	TEEC_FinalizeContext(&context);
}

static uint32_t type_of(const struct tee_parameter *parameter)
{
	switch (parameter->kind) {
	case TEE_VALUE_IN:
		return TEEC_VALUE_INPUT;
	case TEE_VALUE_OUT:
		return TEEC_VALUE_OUTPUT;
	case TEE_VALUE_INOUT:
		return TEEC_VALUE_INOUT;
	case TEE_MEMORY_IN:
		/* Nothing cannot be part of a shared memory, but it can be a temporary one. */
		return parameter->size ? TEEC_MEMREF_PARTIAL_INPUT : TEEC_MEMREF_TEMP_INPUT;
	case TEE_MEMORY_OUT:
		return TEEC_MEMREF_PARTIAL_OUTPUT;
	default:
		return TEEC_NONE;
	}
}

/* So that what is behind a message's nonce is aligned, as the TA has it: it is copied by whole words then. */
static size_t gap_before(uint32_t command, int parameter)
{
	bool message = (command == KEYCACHE_OPEN && parameter == 1) || (command == KEYCACHE_SEAL && parameter == 2) ||
		       ((command == KEYCACHE_REENCRYPT || command == KEYCACHE_FANOUT) &&
			(parameter == 1 || parameter == 2));

	return message ? ALIGNMENT - KEYCACHE_NONCE_BYTES : 0;
}

static uint32_t invoke_command(uint32_t command, struct tee_parameter parameters[4])
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(type_of(&parameters[0]), type_of(&parameters[1]),
							     type_of(&parameters[2]), type_of(&parameters[3])) };
	uint8_t *bytes = shared.buffer;
	size_t end = 0;
	TEEC_Result res;

	for (int i = 0; i < 4; i++) {
		struct tee_parameter *parameter = &parameters[i];

		op.params[i].value.a = parameter->a;
		op.params[i].value.b = parameter->b;
		if (parameter->kind != TEE_MEMORY_IN && parameter->kind != TEE_MEMORY_OUT)
			continue;
		if (parameter->kind == TEE_MEMORY_IN && !parameter->size) {
			op.params[i].tmpref = (TEEC_TempMemoryReference){ .buffer = NULL, .size = 0 };
			continue;
		}
		end += gap_before(command, i);
		if (end > SHARED_BYTES || parameter->size > SHARED_BYTES - end)
			return RESULT_BAD_PARAMETERS;
		op.params[i].memref = (TEEC_RegisteredMemoryReference){ .parent = &shared,
									.offset = end,
									.size = parameter->size };
		if (parameter->kind == TEE_MEMORY_IN)
			memcpy(bytes + end, parameter->data, parameter->size);
		end = (end + parameter->size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
		if (end > SHARED_BYTES)
			end = SHARED_BYTES;
	}
	res = TEEC_InvokeCommand(&session, command, &op, NULL);
	for (int i = 0; i < 4; i++) {
		struct tee_parameter *parameter = &parameters[i];

		if (parameter->kind == TEE_VALUE_OUT || parameter->kind == TEE_VALUE_INOUT) {
			parameter->a = op.params[i].value.a;
			parameter->b = op.params[i].value.b;
		}
		if (parameter->kind == TEE_MEMORY_OUT) {
			if (!res && op.params[i].memref.size <= parameter->size)
				memcpy(parameter->data, bytes + op.params[i].memref.offset, op.params[i].memref.size);
			parameter->size = op.params[i].memref.size;
		}
	}
	/* A key that was set or read, or a plaintext, must not lie here until the next call. */
	if (command == KEYCACHE_SET || command == KEYCACHE_GET || command == KEYCACHE_SEAL || command == KEYCACHE_OPEN)
		memset(bytes, 0, end);
	return res;
}

const struct tee_backend tee_backend = {
	.name = "libteec",
	.open = open_session,
	.close = close_session,
	.invoke = invoke_command,
};
