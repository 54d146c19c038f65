/* SPDX-License-Identifier: BSD-2-Clause */
/* Between OP-TEE and the key cache's TA: regions around its commands and around its calls of secure storage. */
#include "measured.h"

static struct measured_ta measured;

#define MEASURED_ARMED measured.commands.armed
#include "../../common/measured_ta.h"

static TEE_Result take(uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_Result res = check_take(types, params, sizeof(measured));

	if (res)
		return res;
	measured.commands.overhead = calibrate();
	measured.storage.overhead = measured.commands.overhead;
	TEE_MemMove(params[0].memref.buffer, &measured, sizeof(measured));
	TEE_MemFill(&measured, 0, sizeof(measured));
	measured.commands.armed = params[1].value.a;
	return TEE_SUCCESS;
}

TEE_Result __real_TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types,
					     TEE_Param params[TEE_NUM_PARAMS]);
TEE_Result __wrap_TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types,
					     TEE_Param params[TEE_NUM_PARAMS]);

TEE_Result __wrap_TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types,
					     TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_Result res;
	uint64_t begin;

	if (command == MEASURED_TAKE)
		return take(types, params);
	if (!measured.commands.armed)
		return __real_TA_InvokeCommandEntryPoint(context, command, types, params);
	begin = bench_region_begin();
	res = __real_TA_InvokeCommandEntryPoint(context, command, types, params);
	bench_total_add(&measured.commands.total, begin, bench_region_end());
	return res;
}

/*
 * The persistent object that is open; the key cache has one at a time. Libutee itself asks for the properties of keys, and
 * closes them, by the same functions.
 */
static TEE_ObjectHandle persistent;

/* A call of secure storage, by its name, its parameters with types, and their names. */
#define STORAGE(name, parameters, arguments, is_one)                                                                   \
	TEE_Result __real_##name parameters;                                                                           \
	TEE_Result __wrap_##name parameters;                                                                           \
	TEE_Result __wrap_##name parameters                                                                            \
	{                                                                                                              \
		TEE_Result res;                                                                                        \
		uint64_t begin;                                                                                        \
                                                                                                                       \
		if (!measured.commands.armed || !(is_one))                                                             \
			return __real_##name arguments;                                                                \
		begin = bench_region_begin();                                                                          \
		res = __real_##name arguments;                                                                         \
		bench_total_add(&measured.storage.total, begin, bench_region_end());                                   \
		return res;                                                                                            \
	}

STORAGE(TEE_CloseAndDeletePersistentObject1, (TEE_ObjectHandle object), (object), true)
STORAGE(TEE_GetObjectInfo1, (TEE_ObjectHandle object, TEE_ObjectInfo *info), (object, info), object == persistent)
STORAGE(TEE_SeekObjectData, (TEE_ObjectHandle object, intmax_t offset, TEE_Whence whence), (object, offset, whence),
	true)
STORAGE(TEE_ReadObjectData, (TEE_ObjectHandle object, void *buffer, size_t size, size_t *count),
	(object, buffer, size, count), true)
STORAGE(TEE_WriteObjectData, (TEE_ObjectHandle object, const void *buffer, size_t size), (object, buffer, size), true)

TEE_Result __real_TEE_OpenPersistentObject(uint32_t storage, const void *id, size_t length, uint32_t flags,
					   TEE_ObjectHandle *object);
TEE_Result __wrap_TEE_OpenPersistentObject(uint32_t storage, const void *id, size_t length, uint32_t flags,
					   TEE_ObjectHandle *object);

TEE_Result __wrap_TEE_OpenPersistentObject(uint32_t storage, const void *id, size_t length, uint32_t flags,
					   TEE_ObjectHandle *object)
{
	uint64_t begin;
	TEE_Result res;

	if (!measured.commands.armed)
		return __real_TEE_OpenPersistentObject(storage, id, length, flags, object);
	begin = bench_region_begin();
	res = __real_TEE_OpenPersistentObject(storage, id, length, flags, object);
	bench_total_add(&measured.storage.total, begin, bench_region_end());
	persistent = *object;
	return res;
}

TEE_Result __real_TEE_CreatePersistentObject(uint32_t storage, const void *id, size_t length, uint32_t flags,
					     TEE_ObjectHandle attributes, const void *data, size_t size,
					     TEE_ObjectHandle *object);
TEE_Result __wrap_TEE_CreatePersistentObject(uint32_t storage, const void *id, size_t length, uint32_t flags,
					     TEE_ObjectHandle attributes, const void *data, size_t size,
					     TEE_ObjectHandle *object);

TEE_Result __wrap_TEE_CreatePersistentObject(uint32_t storage, const void *id, size_t length, uint32_t flags,
					     TEE_ObjectHandle attributes, const void *data, size_t size,
					     TEE_ObjectHandle *object)
{
	uint64_t begin;
	TEE_Result res;

	if (!measured.commands.armed)
		return __real_TEE_CreatePersistentObject(storage, id, length, flags, attributes, data, size, object);
	begin = bench_region_begin();
	res = __real_TEE_CreatePersistentObject(storage, id, length, flags, attributes, data, size, object);
	bench_total_add(&measured.storage.total, begin, bench_region_end());
	persistent = *object;
	return res;
}

void __real_TEE_CloseObject(TEE_ObjectHandle object);
void __wrap_TEE_CloseObject(TEE_ObjectHandle object);

void __wrap_TEE_CloseObject(TEE_ObjectHandle object)
{
	uint64_t begin;

	if (!measured.commands.armed || object != persistent) {
		__real_TEE_CloseObject(object);
		return;
	}
	begin = bench_region_begin();
	__real_TEE_CloseObject(object);
	bench_total_add(&measured.storage.total, begin, bench_region_end());
	persistent = TEE_HANDLE_NULL;
}
