/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache.h"
#include "index.h"
#include "test.h"

static void path_of(char path[4096], const char *where, const char *file)
{
	if (snprintf(path, 4096, "%s/%s", where, file) >= 4096)
		abort();
}

void remove_storage(const char *which)
{
	DIR *files = opendir(which);
	const struct dirent *entry;
	char path[4096];

	while (files && (entry = readdir(files))) {
		path_of(path, which, entry->d_name);
		if (entry->d_name[0] != '.')
			(void)unlink(path);
	}
	if (files)
		(void)closedir(files);
	(void)rmdir(which);
}

static void copy_folder(const char *from, const char *to)
{
	DIR *files = opendir(from);
	const struct dirent *entry;
	char path[4096];
	static uint8_t content[1 << 20];

	if (!files || mkdir(to, 0700))
		abort();
	while ((entry = readdir(files))) {
		ssize_t size;
		int file;

		if (entry->d_name[0] == '.')
			continue;
		path_of(path, from, entry->d_name);
		file = open(path, O_RDONLY);
		size = read(file, content, sizeof(content));
		(void)close(file);
		path_of(path, to, entry->d_name);
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (size < 0 || write(file, content, (size_t)size) != size)
			abort();
		(void)close(file);
	}
	(void)closedir(files);
}

void keep_storage(const char *aside)
{
	remove_storage(aside);
	copy_folder(folder(), aside);
}

/* The folder itself stays, since the shim has it open. */
void restore_storage(const char *aside)
{
	DIR *files = opendir(folder());
	const struct dirent *entry;
	char path[4096];
	char other[4096];

	while (files && (entry = readdir(files))) {
		path_of(path, folder(), entry->d_name);
		if (entry->d_name[0] != '.')
			(void)unlink(path);
	}
	if (files)
		(void)closedir(files);
	else
		(void)mkdir(folder(), 0700);
	files = opendir(aside);
	while (files && (entry = readdir(files))) {
		path_of(path, aside, entry->d_name);
		path_of(other, folder(), entry->d_name);
		if (entry->d_name[0] != '.' && rename(path, other))
			abort();
	}
	if (files)
		(void)closedir(files);
	(void)rmdir(aside);
}

static void object_path(char path[4096], const char *storage, const char *object)
{
	int length = snprintf(path, 4096, "%s/%s-", folder(), storage);

	for (; *object; object++)
		length += snprintf(path + length, 4096 - (size_t)length, "%02x", (unsigned int)*object);
}

void damage(const char *storage, const char *object)
{
	char path[4096];
	uint8_t byte;
	int file;

	object_path(path, storage, object);
	file = open(path, O_RDWR);
	if (file < 0 || pread(file, &byte, 1, 20) != 1)
		abort();
	byte ^= 4;
	if (pwrite(file, &byte, 1, 20) != 1 || close(file))
		abort();
}

void forge(const char *storage, const char *object, size_t offset, uint8_t byte)
{
	static uint8_t content[1 << 20];
	char path[4096];
	ssize_t size;
	int file;

	object_path(path, storage, object);
	file = open(path, O_RDWR);
	size = read(file, content, sizeof(content)) - SHA256_DIGEST_LENGTH;
	if (size <= (ssize_t)offset)
		abort();
	content[offset] = byte;
	SHA256(content, (size_t)size, content + size);
	size += SHA256_DIGEST_LENGTH;
	if (pwrite(file, content, (size_t)size, 0) != size || close(file))
		abort();
}

void cut_object(const char *storage, const char *object, size_t size)
{
	uint8_t content[4096 + SHA256_DIGEST_LENGTH];
	char path[4096];
	int file;

	object_path(path, storage, object);
	file = open(path, O_RDWR);
	if (size > 4096 || read(file, content, size) != (ssize_t)size)
		abort();
	SHA256(content, size, content + size);
	size += SHA256_DIGEST_LENGTH;
	if (pwrite(file, content, size, 0) != (ssize_t)size || ftruncate(file, (off_t)size) || close(file))
		abort();
}

void remove_object(const char *storage, const char *object)
{
	char path[4096];

	object_path(path, storage, object);
	if (unlink(path))
		abort();
}

uint32_t bytes_for(unsigned int keys)
{
	static uint32_t each;

	/* What an entry takes is the cache's own affair. main.c asks before the TA runs, so that its cache is not touched. */
	if (!each) {
		while (!cache_capacity())
			(void)cache_open(++each);
		cache_close();
	}
	return each * keys;
}

void start(enum keycache_storage storage, enum keycache_policy policy, unsigned int keys, uint32_t flags)
{
	uint32_t bytes = bytes_for(keys);

	CHECK(!shim_start(folder()));
	EXPECT(configure(storage, policy, bytes, flags, 0), TEE_SUCCESS);
}

const char *name(unsigned int number)
{
	static char names[8][KEYCACHE_ID_BYTES];
	static unsigned int next;
	char *text = names[next++ % 8];

	(void)snprintf(text, KEYCACHE_ID_BYTES, "client-%u", number);
	return text;
}

unsigned int bucket_of(const char *text)
{
	struct id id = { .length = (uint8_t)strlen(text) };

	memcpy(id.bytes, text, id.length);
	return index_bucket(&id);
}

uint32_t pick(uint32_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}
