/* SPDX-License-Identifier: BSD-2-Clause */
/* A persistent object in the REE's file system, made and deleted again. */
#include "storage.h"

#include <tee_internal_api_extensions.h>

#include "app_ta.h"
#include "attestation.h"

static TEE_ObjectHandle object;

TEE_Result storage_create(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	static const char name[] = "worldwise";
	static uint8_t content[ATTEST_OBJECT_BYTES];
	size_t size = params[0].memref.size;
	uint64_t begin;
	uint64_t end;
	TEE_Result res;

	(void)session;
	if (object)
		return TEE_ERROR_BAD_STATE;
	if (size > sizeof(content))
		return TEE_ERROR_BAD_PARAMETERS;
	/* What the client shares may change at any time; the object is made from memory of the TA's own. */
	TEE_MemMove(content, params[0].memref.buffer, size);

	begin = bench_region_begin();
	res = TEE_CreatePersistentObject(TEE_STORAGE_PRIVATE_REE, name, sizeof(name) - 1,
					 TEE_DATA_FLAG_ACCESS_READ | TEE_DATA_FLAG_ACCESS_WRITE_META, TEE_HANDLE_NULL,
					 content, size, &object);
	end = bench_region_end();

	ta_give_span(params, begin, end);
	return res;
}

TEE_Result storage_read(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	static uint8_t content[ATTEST_OBJECT_BYTES];
	size_t count = 0;
	TEE_Result res;

	(void)session;
	if (!object)
		return TEE_ERROR_BAD_STATE;
	if (params[0].memref.size > sizeof(content))
		return TEE_ERROR_BAD_PARAMETERS;
	res = TEE_SeekObjectData(object, 0, TEE_DATA_SEEK_SET);
	if (!res)
		res = TEE_ReadObjectData(object, content, params[0].memref.size, &count);
	if (!res)
		TEE_MemMove(params[0].memref.buffer, content, count);
	params[0].memref.size = count;
	return res;
}

TEE_Result storage_delete(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_Result res;

	(void)session;
	(void)params;
	if (!object)
		return TEE_ERROR_BAD_STATE;
	res = TEE_CloseAndDeletePersistentObject1(object);
	object = TEE_HANDLE_NULL;
	return res;
}

void storage_close(void)
{
	if (object)
		(void)TEE_CloseAndDeletePersistentObject1(object);
	object = TEE_HANDLE_NULL;
}
