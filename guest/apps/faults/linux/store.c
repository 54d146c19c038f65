/* SPDX-License-Identifier: BSD-2-Clause */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../bench/bench.h"
#include "../../../bench/semihost.h"

/* --- files --- */

static void *must_allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		bench_fail("no memory for %zu bytes", size);
	return memory;
}

struct stored_file *store_file(struct store *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++)
		if (!strcmp(store->files[i].name, name))
			return &store->files[i];
	return NULL;
}

void store_remove(struct store *store, const char *name)
{
	struct stored_file *file = store_file(store, name);

	if (!file)
		bench_fail("the store has no file %s", name);
	free(file->bytes);
	*file = store->files[--store->count];
}

/* A file by its name, made if need be, with room for `size` bytes; what is new in it is zero. */
static struct stored_file *sized(struct store *store, const char *name, size_t size)
{
	struct stored_file *file = store_file(store, name);
	uint8_t *bytes;

	if (!file) {
		if (store->count == MAX_STORED_FILES || strlen(name) >= JOURNAL_NAME)
			bench_fail("more files than the store has room for, or a long name: %s", name);
		file = &store->files[store->count++];
		memset(file, 0, sizeof(*file));
		memcpy(file->name, name, strlen(name) + 1);
	}
	bytes = must_allocate(size);
	memcpy(bytes, file->bytes ? file->bytes : bytes, file->size < size ? file->size : size);
	free(file->bytes);
	file->bytes = bytes;
	file->size = size;
	return file;
}

void store_set(struct store *store, const char *name, const uint8_t *bytes, size_t size)
{
	memcpy(sized(store, name, size)->bytes, bytes, size);
}

struct store *store_copy(const struct store *store)
{
	struct store *copy = must_allocate(sizeof(*copy));

	copy->device = store->device;
	for (size_t i = 0; i < store->count; i++)
		store_set(copy, store->files[i].name, store->files[i].bytes, store->files[i].size);
	return copy;
}

static void file_path(char *path, size_t size, const char *name)
{
	int length = snprintf(path, size, "%s/%s", STORE_DIRECTORY, name);

	if (length < 0 || (size_t)length >= size)
		bench_fail("a path is too long: %s", name);
}

static void take_file(struct store *store, const char *name)
{
	char path[300];
	struct stat info;
	struct stored_file *file;
	int fd;

	file_path(path, sizeof(path), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info))
		bench_fail("%s: %s", path, strerror(errno));
	file = sized(store, name, (size_t)info.st_size);
	if (read(fd, file->bytes, file->size) != (ssize_t)file->size)
		bench_fail("%s: cannot be read", path);
	close(fd);
}

static void put_file(const struct stored_file *file)
{
	char path[300];
	int fd;

	file_path(path, sizeof(path), file->name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, file->bytes, file->size) != (ssize_t)file->size)
		bench_fail("%s: %s", path, strerror(errno));
	close(fd);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Calls `act` with each file's name, in their order. */
static void each_file(void (*act)(struct store *store, const char *name), struct store *store)
{
	struct dirent **entries;
	int count = scandir(STORE_DIRECTORY, &entries, no_dot, by_name);

	if (count < 0 && errno == ENOENT)
		return; /* tee-supplicant makes it with its first file */
	if (count < 0)
		bench_fail("%s: %s", STORE_DIRECTORY, strerror(errno));
	for (int i = 0; i < count; i++) {
		act(store, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void remove_file(struct store *store, const char *name)
{
	char path[300];

	(void)store;
	file_path(path, sizeof(path), name);
	if (unlink(path))
		bench_fail("%s: %s", path, strerror(errno));
}

static void make_directory(void)
{
	char path[] = STORE_DIRECTORY;

	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	if (mkdir(path, 0700) && errno != EEXIST)
		bench_fail("%s: %s", path, strerror(errno));
}

/* --- the RPMB device, in tee-supplicant's memory --- */

static int supplicant(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	if (!processes)
		bench_fail("/proc: %s", strerror(errno));
	while ((entry = readdir(processes))) {
		char path[300];
		char name[32] = "";
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && !strcmp(name, SUPPLICANT "\n"))
			found = atoi(entry->d_name);
		(void)fclose(f);
	}
	closedir(processes);
	if (!found)
		bench_fail("%s does not run", SUPPLICANT);
	return found;
}

/* Opens the process's memory; `at` is where the device is in it. */
static int open_device(off_t *at)
{
	static off_t known;
	int process = supplicant();
	char path[64];
	char line[512];
	FILE *maps;
	int memory;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", process);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		bench_fail("%s: %s", path, strerror(errno));
	if (known) {
		*at = known;
		return memory;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", process);
	maps = fopen(path, "re");
	if (!maps)
		bench_fail("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), maps)) {
		unsigned long begin;
		unsigned long end;
		uint8_t *copy;
		size_t found;

		if (!strstr(line, "/" SUPPLICANT) || !strstr(line, "rw-p") ||
		    sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		copy = must_allocate(end - begin);
		if (pread(memory, copy, end - begin, (off_t)begin) != (ssize_t)(end - begin))
			bench_fail("the memory of %s cannot be read", SUPPLICANT);
		found = find_device(copy, end - begin, 0);
		if (found < end - begin) {
			if (known || find_device(copy, end - begin, found + sizeof(uint64_t)) < end - begin)
				bench_fail("two things look like the RPMB device");
			known = (off_t)(begin + found);
		}
		free(copy);
	}
	(void)fclose(maps);
	if (!known)
		bench_fail("the emulated RPMB device is not in the memory of %s", SUPPLICANT);
	*at = known;
	return memory;
}

/* --- whole states --- */

void store_take(struct store *store)
{
	off_t at;
	int memory = open_device(&at);

	while (store->count)
		store_remove(store, store->files[0].name);
	each_file(take_file, store);
	if (pread(memory, &store->device, sizeof(store->device), at) != (ssize_t)sizeof(store->device))
		bench_fail("the RPMB device cannot be read");
	close(memory);
}

void store_put(const struct store *store)
{
	off_t at;
	int memory = open_device(&at);

	make_directory();
	each_file(remove_file, NULL);
	for (size_t i = 0; i < store->count; i++)
		put_file(&store->files[i]);
	if (pwrite(memory, &store->device, sizeof(store->device), at) != (ssize_t)sizeof(store->device))
		bench_fail("the RPMB device cannot be written");
	close(memory);
}

static void save_entry(long handle, const struct journal_entry *head, const void *data)
{
	if (semihost_write(handle, head, sizeof(*head)) || (head->length && semihost_write(handle, data, head->length)))
		bench_fail("the host does not take the state");
}

static void save_device(long handle, const struct device *device)
{
	struct device_state state = { .key_set = device->key_set, .write_counter = device->write_counter };
	size_t size = sizeof(state) + DEVICE_BLOCKS * sizeof(struct device_block);
	uint8_t *data = must_allocate(size);
	struct device_block *block = (struct device_block *)(void *)(data + sizeof(state));
	struct journal_entry head = { .magic = JOURNAL_MAGIC, .kind = JOURNAL_DEVICE };

	memcpy(state.key, device->key, sizeof(state.key));
	for (uint32_t i = 0; i < DEVICE_BLOCKS; i++) {
		static const uint8_t nothing[DEVICE_BLOCK];

		if (!memcmp(device->blocks[i], nothing, DEVICE_BLOCK))
			continue;
		block->index = i;
		memcpy(block->data, device->blocks[i], DEVICE_BLOCK);
		block++;
		state.blocks++;
	}
	memcpy(data, &state, sizeof(state));
	head.length = (uint32_t)((uint8_t *)block - data);
	save_entry(handle, &head, data);
	free(data);
}

void store_save(const struct store *store, const char *host_file)
{
	long handle = semihost_open(host_file, "w");

	if (handle < 0)
		bench_fail("the host does not take %s", host_file);
	for (size_t i = 0; i < store->count; i++) {
		const struct stored_file *file = &store->files[i];
		struct journal_entry head = { .magic = JOURNAL_MAGIC, .kind = JOURNAL_CREATE };

		memcpy(head.name, file->name, sizeof(head.name));
		save_entry(handle, &head, NULL);
		head.kind = JOURNAL_WRITE;
		head.length = (uint32_t)file->size;
		save_entry(handle, &head, file->bytes);
	}
	save_device(handle, &store->device);
}

static void load_device(struct device *device, const uint8_t *data, size_t length)
{
	struct device_state state;

	if (length < sizeof(state))
		bench_fail("a journal's entry is too short");
	memcpy(&state, data, sizeof(state));
	if (length != sizeof(state) + state.blocks * sizeof(struct device_block))
		bench_fail("a journal's entry has %zu bytes for %u blocks", length, (unsigned int)state.blocks);
	memcpy(device->key, state.key, sizeof(device->key));
	device->key_set = state.key_set;
	device->write_counter = state.write_counter;
	data += sizeof(state);
	for (uint32_t i = 0; i < state.blocks; i++, data += sizeof(struct device_block)) {
		struct device_block block;

		memcpy(&block, data, sizeof(block));
		if (block.index >= DEVICE_BLOCKS)
			bench_fail("a journal's entry names block %u", (unsigned int)block.index);
		memcpy(device->blocks[block.index], block.data, DEVICE_BLOCK);
	}
}

static void load_entry(struct store *store, const struct journal_entry *head, const uint8_t *data)
{
	struct stored_file *file = store_file(store, head->name);

	switch (head->kind) {
	case JOURNAL_CREATE:
		(void)sized(store, head->name, 0);
		return;
	case JOURNAL_WRITE:
		if (!file || file->size < head->offset + head->length)
			file = sized(store, head->name, head->offset + head->length);
		memcpy(file->bytes + head->offset, data, head->length);
		return;
	case JOURNAL_TRUNCATE:
		(void)sized(store, head->name, head->offset);
		return;
	case JOURNAL_RENAME:
		if (!file || !head->length || head->length > JOURNAL_NAME || data[head->length - 1])
			bench_fail("a journal's entry renames %s", head->name);
		if (store_file(store, (const char *)data))
			store_remove(store, (const char *)data);
		memcpy(store_file(store, head->name)->name, data, head->length);
		return;
	case JOURNAL_REMOVE:
		store_remove(store, head->name);
		return;
	case JOURNAL_DEVICE:
		load_device(&store->device, data, head->length);
		return;
	default:
		bench_fail("a journal's entry of kind %u", (unsigned int)head->kind);
	}
}

static bool load_bytes(long handle, void *data, size_t size)
{
	long got = size ? semihost_read(handle, data, size) : 0;

	if (got && got != (long)size)
		bench_fail("a journal ends within an entry");
	return !size || got;
}

void store_load(struct store *store, const char *host_file)
{
	long handle = semihost_open(host_file, "r");
	struct journal_entry head;

	if (handle < 0)
		bench_fail("the host has no %s", host_file);
	/* What no journal tells of is as tee-supplicant has it from its start. */
	store_take(store);
	while (store->count)
		store_remove(store, store->files[0].name);
	memset(store->device.blocks, 0, sizeof(store->device.blocks));
	while (load_bytes(handle, &head, sizeof(head))) {
		uint8_t *data = must_allocate(head.length);

		if (head.magic != JOURNAL_MAGIC || !load_bytes(handle, data, head.length))
			bench_fail("%s is no journal", host_file);
		head.name[JOURNAL_NAME - 1] = '\0';
		load_entry(store, &head, data);
		free(data);
	}
}
