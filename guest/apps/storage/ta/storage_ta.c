/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects in secure storage, one operation a command. Nothing stays open from one command to the next, so that each
 * pays for all that it needs.
 *
 * Content is copied between the client's memory and a buffer of the TA. Objects in RPMB need that: OP-TEE 4.10 lets
 * them be read and written in the TA's own memory alone, and a TA that tries with the client's panics.
 */
#include "stateless_ta.h"
#include "storage.h"

#include <tee_api_defines_extensions.h>

/* "object-" and a digit. */
#define ID_BYTES 8

static uint8_t buffer[STORAGE_BYTES];

struct object {
	uint32_t storage;
	char id[ID_BYTES];
	uint64_t begin;
};

static TEE_Result name(uint32_t number, char id[ID_BYTES])
{
	if (number >= STORAGE_OBJECTS)
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(id, "object-", ID_BYTES - 1);
	id[ID_BYTES - 1] = (char)('0' + number);
	return TEE_SUCCESS;
}

static TEE_Result find(const TEE_Param *param, struct object *object)
{
	switch (param->value.a) {
	case STORAGE_REE:
		object->storage = TEE_STORAGE_PRIVATE_REE;
		break;
	case STORAGE_RPMB:
		object->storage = TEE_STORAGE_PRIVATE_RPMB;
		break;
	default:
		return TEE_ERROR_ITEM_NOT_FOUND;
	}
	return name(param->value.b, object->id);
}

static TEE_Result check_memory(const TEE_Param *param)
{
	if (!param->memref.buffer || !param->memref.size)
		return TEE_ERROR_BAD_PARAMETERS;
	return param->memref.size > STORAGE_BYTES ? TEE_ERROR_EXCESS_DATA : TEE_SUCCESS;
}

static TEE_Result open(const struct object *object, uint32_t flags, TEE_ObjectHandle *handle, size_t *size)
{
	TEE_Result res = TEE_OpenPersistentObject(object->storage, object->id, ID_BYTES, flags, handle);
	TEE_ObjectInfo info;

	if (res || !size)
		return res;
	res = TEE_GetObjectInfo1(*handle, &info);
	if (res)
		TEE_CloseObject(*handle);
	else
		*size = info.dataSize;
	return res;
}

static TEE_Result create(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	const uint32_t flags = TEE_DATA_FLAG_ACCESS_READ | TEE_DATA_FLAG_ACCESS_WRITE | TEE_DATA_FLAG_ACCESS_WRITE_META;
	TEE_ObjectHandle handle;
	struct object object;
	TEE_Result res = find(&params[1], &object);

	(void)session;
	if (!res)
		res = check_memory(&params[0]);
	if (res)
		return res;

	object.begin = bench_region_begin();
	TEE_MemMove(buffer, params[0].memref.buffer, params[0].memref.size);
	res = TEE_CreatePersistentObject(object.storage, object.id, ID_BYTES, flags, TEE_HANDLE_NULL, buffer,
					 params[0].memref.size, &handle);
	if (res)
		return res;
	TEE_CloseObject(handle);
	ta_give_span(params, object.begin, bench_region_end());
	return TEE_SUCCESS;
}

static TEE_Result read(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectHandle handle;
	struct object object;
	size_t size = 0;
	size_t count = 0;
	TEE_Result res = find(&params[1], &object);

	(void)session;
	if (!res)
		res = check_memory(&params[0]);
	if (res)
		return res;

	object.begin = bench_region_begin();
	res = open(&object, TEE_DATA_FLAG_ACCESS_READ, &handle, &size);
	if (res)
		return res;
	if (size > params[0].memref.size) {
		TEE_CloseObject(handle);
		params[0].memref.size = size;
		return TEE_ERROR_SHORT_BUFFER;
	}
	res = TEE_ReadObjectData(handle, buffer, size, &count);
	/* An object that was found corrupt is gone, and its handle with it. */
	if (res == TEE_ERROR_CORRUPT_OBJECT)
		return res;
	TEE_CloseObject(handle);
	if (res)
		return res;
	TEE_MemMove(params[0].memref.buffer, buffer, count);
	ta_give_span(params, object.begin, bench_region_end());
	params[0].memref.size = count;
	return TEE_SUCCESS;
}

/* What overwriting and appending have in common: `append` is whether to begin behind the end. */
static TEE_Result write(TEE_Param params[TEE_NUM_PARAMS], bool append)
{
	TEE_ObjectHandle handle;
	struct object object;
	size_t size = 0;
	TEE_Result res = find(&params[1], &object);

	if (!res)
		res = check_memory(&params[0]);
	if (res)
		return res;

	object.begin = bench_region_begin();
	res = open(&object, TEE_DATA_FLAG_ACCESS_WRITE, &handle, &size);
	if (res)
		return res;
	if (append && size + params[0].memref.size > STORAGE_BYTES)
		res = TEE_ERROR_OVERFLOW;
	else if (append)
		res = TEE_SeekObjectData(handle, 0, TEE_DATA_SEEK_END);
	else if (params[0].memref.size > size)
		res = TEE_ERROR_BAD_PARAMETERS;
	if (!res) {
		TEE_MemMove(buffer, params[0].memref.buffer, params[0].memref.size);
		res = TEE_WriteObjectData(handle, buffer, params[0].memref.size);
		if (res == TEE_ERROR_CORRUPT_OBJECT)
			return res;
	}
	TEE_CloseObject(handle);
	if (res)
		return res;
	ta_give_span(params, object.begin, bench_region_end());
	return TEE_SUCCESS;
}

static TEE_Result overwrite(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	return write(params, false);
}

static TEE_Result append(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	return write(params, true);
}

static TEE_Result rename(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectHandle handle;
	struct object object;
	char id[ID_BYTES];
	TEE_Result res = find(&params[1], &object);

	(void)session;
	if (!res)
		res = name(params[0].value.a, id);
	if (res)
		return res;

	object.begin = bench_region_begin();
	res = open(&object, TEE_DATA_FLAG_ACCESS_WRITE_META, &handle, NULL);
	if (res)
		return res;
	res = TEE_RenamePersistentObject(handle, id, ID_BYTES);
	TEE_CloseObject(handle);
	if (res)
		return res;
	ta_give_span(params, object.begin, bench_region_end());
	return TEE_SUCCESS;
}

static TEE_Result enumerate(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectEnumHandle enumerator = TEE_HANDLE_NULL;
	TEE_ObjectInfo info;
	char id[TEE_OBJECT_ID_MAX_LEN];
	size_t length;
	struct object object;
	uint32_t count = 0;
	uint32_t bytes = 0;
	TEE_Result res = find(&params[1], &object);

	(void)session;
	if (!res && params[1].value.b)
		res = TEE_ERROR_BAD_PARAMETERS;
	if (res)
		return res;

	object.begin = bench_region_begin();
	res = TEE_AllocatePersistentObjectEnumerator(&enumerator);
	if (res)
		return res;
	res = TEE_StartPersistentObjectEnumerator(enumerator, object.storage);
	while (!res) {
		length = sizeof(id);
		res = TEE_GetNextPersistentObject(enumerator, &info, id, &length);
		if (!res) {
			count++;
			bytes += (uint32_t)info.dataSize;
		}
	}
	TEE_FreePersistentObjectEnumerator(enumerator);
	/* So the end of the list is reported, and an empty list. */
	if (res != TEE_ERROR_ITEM_NOT_FOUND)
		return res;
	ta_give_span(params, object.begin, bench_region_end());
	params[0].value.a = count;
	params[0].value.b = bytes;
	return TEE_SUCCESS;
}

static TEE_Result delete(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectHandle handle;
	struct object object;
	TEE_Result res = find(&params[1], &object);

	(void)session;
	if (res)
		return res;

	object.begin = bench_region_begin();
	res = open(&object, TEE_DATA_FLAG_ACCESS_WRITE_META, &handle, NULL);
	if (!res)
		res = TEE_CloseAndDeletePersistentObject1(handle);
	if (res)
		return res;
	ta_give_span(params, object.begin, bench_region_end());
	return TEE_SUCCESS;
}

static TEE_Result truncate(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_ObjectHandle handle;
	struct object object;
	size_t size = 0;
	TEE_Result res = find(&params[1], &object);

	(void)session;
	if (res)
		return res;

	object.begin = bench_region_begin();
	res = open(&object, TEE_DATA_FLAG_ACCESS_WRITE, &handle, &size);
	if (res)
		return res;
	if (!params[0].value.a || params[0].value.a > size)
		res = TEE_ERROR_BAD_PARAMETERS;
	else
		res = TEE_TruncateObjectData(handle, params[0].value.a);
	if (res == TEE_ERROR_CORRUPT_OBJECT)
		return res;
	TEE_CloseObject(handle);
	if (res)
		return res;
	ta_give_span(params, object.begin, bench_region_end());
	return TEE_SUCCESS;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[STORAGE_CREATE] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, VALUE_OUT, VALUE_OUT), create },
		[STORAGE_READ] = { TEE_PARAM_TYPES(MEMORY_OUT, VALUE_IN, VALUE_OUT, VALUE_OUT), read },
		[STORAGE_OVERWRITE] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, VALUE_OUT, VALUE_OUT), overwrite },
		[STORAGE_APPEND] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, VALUE_OUT, VALUE_OUT), append },
		[STORAGE_RENAME] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_OUT, VALUE_OUT), rename },
		[STORAGE_ENUMERATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_IN, VALUE_OUT, VALUE_OUT), enumerate },
		[STORAGE_DELETE] = { TEE_PARAM_TYPES(NONE, VALUE_IN, VALUE_OUT, VALUE_OUT), delete },
		[STORAGE_TRUNCATE] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_OUT, VALUE_OUT), truncate },
		[STORAGE_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
