/* SPDX-License-Identifier: BSD-2-Clause */
/* Persistent objects: each is a file, its content and then the SHA-256 of that. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define TEMPORARY "being-written"

struct shim_counts shim_counts;

static int folder = -1;
static bool frozen;
static struct __TEE_ObjectHandle *objects;
/* Of a write that goes on, and may end in the middle. */
static uint8_t *content;
static int temporary = -1;
static unsigned int cut_at;
static unsigned int fail_at;
static TEE_Result fail_with;
static bool fail_done;
static unsigned int fail_read_at;
static TEE_Result fail_read_with;
static bool failed_read;
static size_t limit;

int shim_storage_open(const char *path)
{
	if (mkdir(path, 0700) && errno != EEXIST) {
		perror(path);
		return -1;
	}
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		perror(path);
		return -1;
	}
	frozen = false;
	return 0;
}

static void end_write(void)
{
	free(content);
	content = NULL;
	if (temporary >= 0)
		(void)close(temporary);
	temporary = -1;
}

void shim_storage_close(void)
{
	end_write();
	(void)shim_storage_close_objects();
	(void)close(folder);
	folder = -1;
}

void shim_storage_freeze(void)
{
	frozen = true;
}

void shim_cut(unsigned int step)
{
	cut_at = step;
}

void shim_fail(unsigned int write_number, TEE_Result error, bool done)
{
	fail_at = write_number;
	fail_with = error;
	fail_done = done;
}

void shim_fail_read(unsigned int number, TEE_Result error)
{
	fail_read_at = number;
	fail_read_with = error;
	failed_read = false;
}

bool shim_failed_read(void)
{
	return failed_read;
}

/* What a reading is to answer. An object that is found corrupt is removed. */
static TEE_Result begin_read(const char *name)
{
	if (!fail_read_at || --fail_read_at)
		return TEE_SUCCESS;
	failed_read = true;
	if (fail_read_with == TEE_ERROR_CORRUPT_OBJECT)
		(void)unlinkat(folder, name, 0);
	return fail_read_with;
}

void shim_storage_limit(size_t bytes)
{
	limit = bytes;
}

static void step(void)
{
	if (cut_at && !--cut_at)
		shim_power_off();
}

static void release(TEE_ObjectHandle object)
{
	struct __TEE_ObjectHandle **link = &objects;

	while (*link != object) {
		if (!*link)
			shim_panic("an object that is not open");
		link = &(*link)->next;
	}
	*link = object->next;
	free(object->data);
	free(object);
}

unsigned int shim_storage_close_objects(void)
{
	unsigned int count = 0;

	for (; objects; count++)
		release(objects);
	return count;
}

static void check(bool holds, const char *why)
{
	if (!holds)
		shim_panic(why);
}

static void name_of(char name[160], uint32_t storage, const void *id, size_t bytes)
{
	const uint8_t *at = id;
	int length = snprintf(name, 160, "%s-", storage == 0x80000000 ? "ree" : "rpmb");

	check(storage == 0x80000000 || storage == 0x80000100, "an unknown storage");
	check(bytes && bytes <= TEE_OBJECT_ID_MAX_LEN, "an object's name is too long");
	shim_private(id, bytes, "an object's name in shared memory");
	while (bytes--)
		length += snprintf(name + length, 160 - (size_t)length, "%02x", *at++);
}

static bool all(int file, uint8_t *data, size_t size, bool writing)
{
	while (size) {
		ssize_t done = writing ? write(file, data, size) : read(file, data, size);

		if (done <= 0)
			return false;
		data += done;
		size -= (size_t)done;
	}
	return true;
}

/* All that is stored, but for one file. */
static size_t used_besides(const char *name)
{
	int copy = dup(folder);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	struct stat status;
	size_t sum = 0;

	if (!list)
		abort();
	rewinddir(list);
	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, name) != 0 && !fstatat(folder, entry->d_name, &status, 0) &&
		    S_ISREG(status.st_mode))
			sum += (size_t)status.st_size;
	(void)closedir(list);
	return sum;
}

static TEE_Result begin_change(const char *name, size_t size, bool *pretend)
{
	*pretend = false;
	shim_counts.writes++;
	if (frozen)
		return TEE_ERROR_STORAGE_NOT_AVAILABLE;
	if (fail_at && !--fail_at) {
		*pretend = true;
		if (!fail_done)
			return fail_with;
	}
	if (limit && size && used_besides(name) + size > limit)
		return TEE_ERROR_STORAGE_NO_SPACE;
	return TEE_SUCCESS;
}

/* Writes `content`. */
static TEE_Result save(const char *name, size_t size)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	bool pretend;
	TEE_Result res = begin_change(name, size, &pretend);

	if (res)
		return res;
	step();
	SHA256(content, size, sum);
	temporary = openat(folder, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (temporary < 0 || !all(temporary, content, size / 2, true))
		abort();
	step();
	if (!all(temporary, content + size / 2, size - size / 2, true) || !all(temporary, sum, sizeof(sum), true))
		abort();
	step();
	if (renameat(folder, TEMPORARY, folder, name))
		abort();
	step();
	return pretend ? fail_with : TEE_SUCCESS;
}

static TEE_Result load(const char *name, uint8_t **data, size_t *size)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	struct stat status;
	int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
	bool good;

	if (file < 0)
		return errno == ENOENT ? TEE_ERROR_ITEM_NOT_FOUND : TEE_ERROR_STORAGE_NOT_AVAILABLE;
	if (fstat(file, &status))
		abort();
	*data = malloc((size_t)status.st_size + 1);
	if (!*data)
		abort();
	good = (size_t)status.st_size >= sizeof(sum) && all(file, *data, (size_t)status.st_size, false);
	(void)close(file);
	if (good) {
		*size = (size_t)status.st_size - sizeof(sum);
		SHA256(*data, *size, sum);
		good = !memcmp(sum, *data + *size, sizeof(sum));
	}
	if (good)
		return TEE_SUCCESS;
	free(*data);
	(void)unlinkat(folder, name, 0);
	return TEE_ERROR_CORRUPT_OBJECT;
}

TEE_Result TEE_OpenPersistentObject(uint32_t storage, const void *id, size_t id_bytes, uint32_t flags,
				    TEE_ObjectHandle *object)
{
	struct __TEE_ObjectHandle *made;
	const struct __TEE_ObjectHandle *other;
	TEE_Result res;

	*object = TEE_HANDLE_NULL;
	shim_counts.opens++;
	if (frozen)
		return TEE_ERROR_STORAGE_NOT_AVAILABLE;
	made = calloc(1, sizeof(*made));
	if (!made)
		abort();
	made->persistent = true;
	made->flags = flags;
	name_of(made->name, storage, id, id_bytes);
	for (other = objects; other; other = other->next) {
		if (!strcmp(other->name, made->name)) {
			free(made);
			return TEE_ERROR_ACCESS_CONFLICT;
		}
	}
	res = begin_read(made->name);
	if (!res)
		res = load(made->name, &made->data, &made->size);
	if (res) {
		free(made);
		return res;
	}
	made->next = objects;
	objects = made;
	*object = made;
	return TEE_SUCCESS;
}

TEE_Result TEE_CreatePersistentObject(uint32_t storage, const void *id, size_t id_bytes, uint32_t flags,
				      TEE_ObjectHandle attributes, const void *data, size_t bytes,
				      TEE_ObjectHandle *object)
{
	char name[160];
	TEE_Result res;

	*object = TEE_HANDLE_NULL;
	check(!attributes, "TEE_CreatePersistentObject with attributes");
	shim_private(data, bytes, "TEE_CreatePersistentObject of shared memory");
	name_of(name, storage, id, id_bytes);
	if (!faccessat(folder, name, F_OK, 0))
		return TEE_ERROR_ACCESS_CONFLICT;
	content = malloc(bytes + 1);
	if (!content)
		abort();
	if (bytes)
		memcpy(content, data, bytes);
	res = save(name, bytes);
	end_write();
	return res ? res : TEE_OpenPersistentObject(storage, id, id_bytes, flags, object);
}

void TEE_CloseObject(TEE_ObjectHandle object)
{
	if (object)
		release(object);
}

TEE_Result TEE_CloseAndDeletePersistentObject1(TEE_ObjectHandle object)
{
	char name[160];
	bool pretend;
	TEE_Result res;

	if (!object)
		return TEE_SUCCESS;
	check(object->flags & TEE_DATA_FLAG_ACCESS_WRITE_META, "TEE_CloseAndDelete...: not opened for that");
	memcpy(name, object->name, sizeof(name));
	release(object);
	res = begin_change(name, 0, &pretend);
	if (res)
		return res;
	step();
	(void)unlinkat(folder, name, 0);
	step();
	return pretend ? fail_with : TEE_SUCCESS;
}

TEE_Result TEE_GetObjectInfo1(TEE_ObjectHandle object, TEE_ObjectInfo *info)
{
	check(object && object->persistent, "TEE_GetObjectInfo1: object");
	memset(info, 0, sizeof(*info));
	info->dataSize = object->size;
	info->dataPosition = object->position;
	info->handleFlags = object->flags;
	return TEE_SUCCESS;
}

TEE_Result TEE_ReadObjectData(TEE_ObjectHandle object, void *buffer, size_t size, size_t *count)
{
	TEE_Result res;

	check(object && object->persistent && object->flags & TEE_DATA_FLAG_ACCESS_READ, "TEE_ReadObjectData: object");
	shim_private(buffer, size, "TEE_ReadObjectData to shared memory");
	shim_counts.reads++;
	res = begin_read(object->name);
	if (res) {
		/* And its handle with it. */
		if (res == TEE_ERROR_CORRUPT_OBJECT)
			release(object);
		return res;
	}
	*count = object->position < object->size ? object->size - object->position : 0;
	if (*count > size)
		*count = size;
	if (*count)
		memcpy(buffer, object->data + object->position, *count);
	object->position += *count;
	return TEE_SUCCESS;
}

TEE_Result TEE_WriteObjectData(TEE_ObjectHandle object, const void *buffer, size_t size)
{
	size_t end;
	size_t whole;
	TEE_Result res;

	check(object && object->persistent && object->flags & TEE_DATA_FLAG_ACCESS_WRITE,
	      "TEE_WriteObjectData: object");
	shim_private(buffer, size, "TEE_WriteObjectData of shared memory");
	end = object->position + size;
	whole = end > object->size ? end : object->size;
	content = calloc(1, whole + 1);
	if (!content)
		abort();
	memcpy(content, object->data, object->size);
	memcpy(content + object->position, buffer, size);
	res = save(object->name, whole);
	if (!res) {
		free(object->data);
		object->data = content;
		object->size = whole;
		object->position = end;
		content = NULL;
	}
	end_write();
	return res;
}

TEE_Result TEE_SeekObjectData(TEE_ObjectHandle object, intmax_t offset, TEE_Whence whence)
{
	intmax_t from = 0;

	check(object && object->persistent, "TEE_SeekObjectData: object");
	if (whence == TEE_DATA_SEEK_CUR)
		from = (intmax_t)object->position;
	else if (whence == TEE_DATA_SEEK_END)
		from = (intmax_t)object->size;
	from += offset;
	object->position = from < 0 ? 0 : (size_t)from;
	return TEE_SUCCESS;
}
