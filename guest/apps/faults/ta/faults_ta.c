/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA whose objects are tampered with, and whose writes are cut short. */
#include <tee_api_defines_extensions.h>

#include "faults.h"
#include "stateless_ta.h"

/* An object's name, in the TA's own memory. */
struct name {
	char bytes[FAULTS_MAX_ID];
	size_t length;
	uint32_t storage;
};

/* Copies a name out of shared memory, where it could change while it is used. */
static TEE_Result take_id(const TEE_Param *param, struct name *name)
{
	if (!param->memref.buffer || !param->memref.size || param->memref.size > sizeof(name->bytes))
		return TEE_ERROR_BAD_PARAMETERS;
	name->length = param->memref.size;
	TEE_MemMove(name->bytes, param->memref.buffer, name->length);
	return TEE_SUCCESS;
}

static TEE_Result take_name(const TEE_Param params[TEE_NUM_PARAMS], struct name *name)
{
	static const uint32_t storages[] = {
		[FAULTS_REE] = TEE_STORAGE_PRIVATE_REE,
		[FAULTS_RPMB] = TEE_STORAGE_PRIVATE_RPMB,
	};

	if (params[0].value.a >= sizeof(storages) / sizeof(storages[0]) || params[0].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	name->storage = storages[params[0].value.a];
	return take_id(&params[1], name);
}

static TEE_Result check_content(const TEE_Param *param)
{
	if (!param->memref.buffer || !param->memref.size || param->memref.size > FAULTS_MAX_OBJECT)
		return TEE_ERROR_BAD_PARAMETERS;
	return TEE_SUCCESS;
}

/* Copies a content to the TA's own memory: the RPMB file system refuses memory that is shared with the client. */
static TEE_Result take_content(const TEE_Param *param, void **content)
{
	TEE_Result res = check_content(param);

	if (res)
		return res;
	*content = TEE_Malloc(param->memref.size, TEE_MALLOC_FILL_ZERO);
	if (!*content)
		return TEE_ERROR_OUT_OF_MEMORY;
	TEE_MemMove(*content, param->memref.buffer, param->memref.size);
	return TEE_SUCCESS;
}

static TEE_Result open_object(const struct name *name, uint32_t flags, TEE_ObjectHandle *object)
{
	return TEE_OpenPersistentObject(name->storage, name->bytes, name->length, flags, object);
}

static TEE_Result create_with(TEE_Param params[TEE_NUM_PARAMS], uint32_t flags)
{
	TEE_ObjectHandle object = TEE_HANDLE_NULL;
	struct name name = { 0 };
	void *content = NULL;
	TEE_Result res = take_name(params, &name);

	if (!res)
		res = take_content(&params[2], &content);
	if (res)
		return res;
	res = TEE_CreatePersistentObject(name.storage, name.bytes, name.length, TEE_DATA_FLAG_ACCESS_WRITE | flags,
					 TEE_HANDLE_NULL, content, params[2].memref.size, &object);
	if (!res)
		TEE_CloseObject(object);
	TEE_Free(content);
	return res;
}

static TEE_Result create(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	return create_with(params, 0);
}

static TEE_Result replace(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	return create_with(params, TEE_DATA_FLAG_OVERWRITE);
}

static TEE_Result write_at(TEE_Param params[TEE_NUM_PARAMS], TEE_Whence whence)
{
	TEE_ObjectHandle object = TEE_HANDLE_NULL;
	struct name name = { 0 };
	void *content = NULL;
	TEE_Result res = take_name(params, &name);

	if (!res)
		res = take_content(&params[2], &content);
	if (!res)
		res = open_object(&name, TEE_DATA_FLAG_ACCESS_WRITE, &object);
	if (!res) {
		res = TEE_SeekObjectData(object, 0, whence);
		if (!res)
			res = TEE_WriteObjectData(object, content, params[2].memref.size);
		TEE_CloseObject(object);
	}
	TEE_Free(content);
	return res;
}

static TEE_Result overwrite(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	return write_at(params, TEE_DATA_SEEK_SET);
}

static TEE_Result append(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	return write_at(params, TEE_DATA_SEEK_END);
}

static TEE_Result rename_object(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectHandle object = TEE_HANDLE_NULL;
	struct name name = { 0 };
	struct name wanted = { 0 };
	TEE_Result res = take_name(params, &name);

	(void)session;
	if (!res)
		res = take_id(&params[2], &wanted);
	if (!res)
		res = open_object(&name, TEE_DATA_FLAG_ACCESS_WRITE_META, &object);
	if (res)
		return res;
	res = TEE_RenamePersistentObject(object, wanted.bytes, wanted.length);
	TEE_CloseObject(object);
	return res;
}

static TEE_Result delete_object(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectHandle object = TEE_HANDLE_NULL;
	struct name name = { 0 };
	TEE_Result res = take_name(params, &name);

	(void)session;
	if (!res)
		res = open_object(&name, TEE_DATA_FLAG_ACCESS_WRITE_META, &object);
	if (res)
		return res;
	return TEE_CloseAndDeletePersistentObject1(object);
}

static TEE_Result read_whole(TEE_ObjectHandle object, TEE_Param *out)
{
	TEE_ObjectInfo info = { 0 };
	TEE_Result res = TEE_GetObjectInfo1(object, &info);
	void *content;
	size_t done = 0;

	if (res)
		return res;
	if (info.dataSize > out->memref.size) {
		out->memref.size = info.dataSize;
		return TEE_ERROR_SHORT_BUFFER;
	}
	/* What says it has bytes beyond counting has been tampered with. */
	content = TEE_Malloc(info.dataSize ? info.dataSize : 1, TEE_MALLOC_FILL_ZERO);
	if (!content)
		return TEE_ERROR_OUT_OF_MEMORY;
	res = TEE_ReadObjectData(object, content, info.dataSize, &done);
	if (!res) {
		TEE_MemMove(out->memref.buffer, content, done);
		out->memref.size = done;
	}
	TEE_Free(content);
	return res;
}

static TEE_Result read_object(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectHandle object = TEE_HANDLE_NULL;
	struct name name = { 0 };
	TEE_Result res = take_name(params, &name);

	(void)session;
	if (!res)
		res = check_content(&params[2]);
	if (!res)
		res = open_object(&name, TEE_DATA_FLAG_ACCESS_READ, &object);
	if (res)
		return res;
	res = read_whole(object, &params[2]);
	TEE_CloseObject(object);
	return res;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[FAULTS_CREATE] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, MEMORY_IN, NONE), create },
		[FAULTS_OVERWRITE] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, MEMORY_IN, NONE), overwrite },
		[FAULTS_APPEND] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, MEMORY_IN, NONE), append },
		[FAULTS_RENAME] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, MEMORY_IN, NONE), rename_object },
		[FAULTS_DELETE] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, NONE, NONE), delete_object },
		[FAULTS_REPLACE] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, MEMORY_IN, NONE), replace },
		[FAULTS_READ] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, MEMORY_OUT, NONE), read_object },
		[FAULTS_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
