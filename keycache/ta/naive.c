/* SPDX-License-Identifier: BSD-2-Clause */
#include "naive.h"

#include <tee_api_defines_extensions.h>

static uint32_t storage_id;

TEE_Result naive_open(enum keycache_storage storage)
{
	storage_id = storage == KEYCACHE_RPMB ? TEE_STORAGE_PRIVATE_RPMB : TEE_STORAGE_PRIVATE_REE;
	return TEE_SUCCESS;
}

struct name {
	uint8_t bytes[TEE_OBJECT_ID_MAX_LEN];
	size_t length;
};

/* "n" and the id, so that no client's object is one of store.c. */
static TEE_Result name_of(const struct id *id, struct name *name)
{
	if (id->length >= sizeof(name->bytes))
		return TEE_ERROR_BAD_PARAMETERS;
	name->bytes[0] = 'n';
	TEE_MemMove(name->bytes + 1, id->bytes, id->length);
	name->length = id->length + 1u;
	return TEE_SUCCESS;
}

static TEE_Result open_object(const struct id *id, uint32_t flags, TEE_ObjectHandle *object)
{
	struct name name;
	TEE_Result res = name_of(id, &name);

	if (!res)
		res = TEE_OpenPersistentObject(storage_id, name.bytes, name.length, flags, object);
	return res == TEE_ERROR_ITEM_NOT_FOUND ? KEYCACHE_NO_KEY : res;
}

/* An object that was found corrupt is gone, and its handle with it. */
static void close_after(TEE_ObjectHandle object, TEE_Result res)
{
	if (res != TEE_ERROR_CORRUPT_OBJECT)
		TEE_CloseObject(object);
}

TEE_Result naive_get(const struct id *id, struct key *key)
{
	TEE_ObjectHandle object;
	size_t count = 0;
	TEE_Result res = open_object(id, TEE_DATA_FLAG_ACCESS_READ, &object);

	if (res)
		return res;
	res = TEE_ReadObjectData(object, key, sizeof(*key), &count);
	close_after(object, res);
	if (!res && (count != sizeof(*key) || (key->length != 16 && key->length != 32)))
		res = TEE_ERROR_BAD_FORMAT;
	if (res)
		wipe(key, sizeof(*key));
	return res;
}

TEE_Result naive_set(const struct id *id, const struct key *key)
{
	TEE_ObjectHandle object;
	struct name name;
	TEE_Result res = open_object(id, TEE_DATA_FLAG_ACCESS_WRITE, &object);

	if (!res) {
		res = TEE_WriteObjectData(object, key, sizeof(*key));
		close_after(object, res);
		return res;
	}
	if (res != KEYCACHE_NO_KEY)
		return res;
	res = name_of(id, &name);
	if (!res)
		res = TEE_CreatePersistentObject(storage_id, name.bytes, name.length, TEE_DATA_FLAG_ACCESS_WRITE,
						 TEE_HANDLE_NULL, key, sizeof(*key), &object);
	if (!res)
		TEE_CloseObject(object);
	return res;
}

TEE_Result naive_delete(const struct id *id)
{
	TEE_ObjectHandle object;
	TEE_Result res = open_object(id, TEE_DATA_FLAG_ACCESS_WRITE_META, &object);

	return res ? res : TEE_CloseAndDeletePersistentObject1(object);
}
