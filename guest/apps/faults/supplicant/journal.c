/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loaded into tee-supplicant: tells the host of everything that it stores, in order, and can stand between OP-TEE and
 * the emulated RPMB device as anybody in the normal world can.
 *
 * An entry of the journal is one semihosting call, so one instruction of the guest: when the machine is stopped it is
 * there whole or not at all. The host gets a file's write by sectors, each after it was written, and a request to the
 * RPMB device after its answer: what one request changes, a real device writes whole or not at all (reliable write).
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/tee.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../../bench/semihost.h"
#include "../journal.h"
#include "next.h"

#define MAX_FILES 256
/* MAX_DATA, the longest entry's bytes, comes from the recipe: each app knows its own. */

/* Of OP-TEE's protocol with tee-supplicant: the request for the RPMB device, its header, and JEDEC's data frame. */
#define RPC_RPMB 1
#define REQUEST_HEADER 6
#define FRAME_BYTES 512
#define FRAME_MAC 196
#define FRAME_DATA 228
#define FRAME_TYPE 510
#define REQUEST_WRITE 0x0003
#define ANSWER_READ 0x0400

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char names[MAX_FILES][JOURNAL_NAME]; /* of open files, by descriptor; empty for all others */

static struct {
	struct journal_entry head;
	uint8_t data[MAX_DATA];
} entry;

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "journal: %s\n", what);
	abort();
}

static bool wanted(void)
{
	static int known = -1;

	if (known < 0)
		known = !access(JOURNAL_SWITCH, F_OK);
	return known;
}

/* Sends an entry whose data is in place. With the lock held. */
static void send_entry(enum journal_kind kind, const char *name, uint64_t offset, size_t length)
{
	static long handle = -1;

	if (!wanted())
		return;
	entry.head = (struct journal_entry){
		.magic = JOURNAL_MAGIC, .kind = kind, .offset = offset, .length = (uint32_t)length
	};
	if (snprintf(entry.head.name, JOURNAL_NAME, "%s", name) >= JOURNAL_NAME)
		give_up("a file's name is too long");
	if (handle < 0)
		handle = semihost_open(JOURNAL_FILE, "w");
	if (handle < 0 || semihost_write(handle, &entry, sizeof(entry.head) + length))
		give_up("the host does not take the journal");
}

static void tell(enum journal_kind kind, const char *name, uint64_t offset, const void *data, size_t length)
{
	if (length > MAX_DATA)
		give_up("an entry is too long");
	pthread_mutex_lock(&lock);
	if (length)
		memcpy(entry.data, data, length);
	send_entry(kind, name, offset, length);
	pthread_mutex_unlock(&lock);
}

/* A path's name within the store; NULL if it is not there. */
static const char *stored(const char *path)
{
	size_t length = strlen(STORE_DIRECTORY);

	return !strncmp(path, STORE_DIRECTORY "/", length + 1) ? path + length + 1 : NULL;
}

static const char *name_of(int fd)
{
	return fd >= 0 && fd < MAX_FILES && names[fd][0] ? names[fd] : NULL;
}

/* --- files --- */

int open64(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	const char *name = stored(path);
	va_list rest;
	mode_t mode;
	int fd;

	if (!real)
		next("open64", &real);
	va_start(rest, flags);
	mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	fd = real(path, flags, mode);
	if (fd < 0 || !name)
		return fd;
	if (fd >= MAX_FILES || strlen(name) >= JOURNAL_NAME)
		give_up("a file that the journal cannot follow");
	/* The journal takes what is written for stored: it is so only for a file that is opened like this. */
	if (name[0] && (flags & O_SYNC) != O_SYNC && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_DIRECTORY))
		give_up("a file of the store is opened without O_SYNC");
	strcpy(names[fd], name);
	if (flags & O_TRUNC)
		tell(JOURNAL_CREATE, name, 0, NULL, 0);
	return fd;
}

int close(int fd)
{
	static int (*real)(int);

	if (!real)
		next("close", &real);
	if (fd >= 0 && fd < MAX_FILES)
		names[fd][0] = '\0';
	return real(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset)
{
	static ssize_t (*real)(int, const void *, size_t, off64_t);
	const char *name = name_of(fd);
	size_t done = 0;

	if (!real)
		next("pwrite64", &real);
	if (!name)
		return real(fd, data, length, offset);
	while (done < length) {
		size_t part = SECTOR_BYTES - (size_t)(offset + (off64_t)done) % SECTOR_BYTES;
		ssize_t written;

		if (part > length - done)
			part = length - done;
		written = real(fd, (const uint8_t *)data + done, part, offset + (off64_t)done);
		if (written < 0)
			return done ? (ssize_t)done : written;
		tell(JOURNAL_WRITE, name, (uint64_t)offset + done, (const uint8_t *)data + done, (size_t)written);
		done += (size_t)written;
	}
	return (ssize_t)done;
}

int ftruncate64(int fd, off64_t length)
{
	static int (*real)(int, off64_t);
	int result;

	if (!real)
		next("ftruncate64", &real);
	result = real(fd, length);
	if (!result && name_of(fd))
		tell(JOURNAL_TRUNCATE, name_of(fd), (uint64_t)length, NULL, 0);
	return result;
}

int rename(const char *from, const char *to)
{
	static int (*real)(const char *, const char *);
	int result;

	if (!real)
		next("rename", &real);
	result = real(from, to);
	if (!result && stored(from) && stored(to))
		tell(JOURNAL_RENAME, stored(from), 0, stored(to), strlen(stored(to)) + 1);
	return result;
}

int unlink(const char *path)
{
	static int (*real)(const char *);
	int result;

	if (!real)
		next("unlink", &real);
	result = real(path);
	if (!result && stored(path))
		tell(JOURNAL_REMOVE, stored(path), 0, NULL, 0);
	return result;
}

/* --- the RPMB device --- */

static int see_object(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	/* The program itself comes first. */
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint8_t *memory = (uint8_t *)(info->dlpi_addr + part->p_vaddr);
		size_t at;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
			continue;
		/* In the file's part, so that the rest of the page counts neither here nor for who looks from outside. */
		at = find_device(memory, part->p_filesz, 0);
		if (at == part->p_filesz)
			continue;
		if (find_device(memory, part->p_filesz, at + sizeof(uint64_t)) != part->p_filesz)
			give_up("two things look like the RPMB device");
		*(struct device **)found = (struct device *)(void *)(memory + at);
	}
	return 1;
}

static struct device *the_device(void)
{
	static struct device *device;

	if (!device) {
		dl_iterate_phdr(see_object, &device);
		if (!device)
			give_up("the emulated RPMB device is not where it is expected");
	}
	return device;
}

/* Tells of what the device has stored since the last time. */
static void tell_device(void)
{
	static uint8_t before[DEVICE_BLOCKS][DEVICE_BLOCK];
	static uint32_t counter;
	static bool key_set;
	const struct device *device = the_device();
	struct device_state *state = (struct device_state *)(void *)entry.data;
	struct device_block *block = (struct device_block *)(void *)(state + 1);

	if (!wanted() || (device->write_counter == counter && device->key_set == key_set))
		return;
	counter = device->write_counter;
	key_set = device->key_set;
	pthread_mutex_lock(&lock);
	*state = (struct device_state){ .key_set = key_set, .write_counter = counter };
	memcpy(state->key, device->key, sizeof(state->key));
	for (uint32_t i = 0; i < DEVICE_BLOCKS; i++) {
		if (!memcmp(before[i], device->blocks[i], DEVICE_BLOCK))
			continue;
		if ((uint8_t *)(block + 1) > entry.data + sizeof(entry.data))
			give_up("one request changes more blocks than a reliable write can");
		memcpy(before[i], device->blocks[i], DEVICE_BLOCK);
		block->index = i;
		memcpy(block->data, device->blocks[i], DEVICE_BLOCK);
		block++;
		state->blocks++;
	}
	send_entry(JOURNAL_DEVICE, "", 0, (size_t)((uint8_t *)block - entry.data));
	pthread_mutex_unlock(&lock);
}

/* --- messages between OP-TEE and the device --- */

#define MAX_SHARED 64
#define MAX_KEPT 512
#define MAX_MESSAGE (64 * 1024)

static struct {
	int id;
	uint8_t *memory;
} shared[MAX_SHARED];

struct message {
	size_t size;
	uint8_t bytes[MAX_MESSAGE];
};
static struct message requests[MAX_KEPT];
static struct message answers[MAX_KEPT];
static size_t requests_kept;
static size_t answers_kept;
static size_t requests_given;
static size_t answers_given;
static struct tee_ioctl_param in_work[2];
static bool working;

static void share(int id, void *memory)
{
	for (size_t i = 0; i < MAX_SHARED; i++) {
		if (shared[i].memory && shared[i].id != id)
			continue;
		shared[i].id = id;
		shared[i].memory = memory;
		return;
	}
	give_up("too much shared memory to follow");
}

static uint8_t *memory_of(const struct tee_ioctl_param *param)
{
	for (size_t i = 0; i < MAX_SHARED; i++)
		if (shared[i].memory && (uint64_t)shared[i].id == param->c)
			return shared[i].memory + param->a;
	give_up("shared memory that nobody has registered");
}

static unsigned int frame_type(const uint8_t *frame)
{
	return (unsigned int)frame[FRAME_TYPE] << 8 | frame[FRAME_TYPE + 1];
}

/* The word of WIRE_SWITCH; empty if it is not there. */
static const char *wire_word(void)
{
	static char word[32];
	FILE *f = fopen(WIRE_SWITCH, "re");

	word[0] = '\0';
	if (f) {
		if (!fgets(word, sizeof(word), f))
			word[0] = '\0';
		(void)fclose(f);
	}
	word[strcspn(word, "\n")] = '\0';
	return word;
}

static void keep(struct message *kept, size_t *count, const uint8_t *bytes, size_t size)
{
	if (*count == MAX_KEPT || size > MAX_MESSAGE)
		give_up("more messages than can be kept");
	kept[*count].size = size;
	memcpy(kept[(*count)++].bytes, bytes, size);
}

/* A request to write, on its way to the device. */
static void touch_request(uint8_t *request, size_t size)
{
	const char *word = wire_word();

	if (size < REQUEST_HEADER + FRAME_BYTES || frame_type(request + REQUEST_HEADER) != REQUEST_WRITE)
		return;
	if (!strcmp(word, "keep")) {
		keep(requests, &requests_kept, request, size);
	} else if (!strcmp(word, "flip-request")) {
		request[REQUEST_HEADER + FRAME_DATA] ^= 1;
	} else if (!strcmp(word, "old-request")) {
		/* In the order in which they came the first time: the same action sends the same sizes. */
		if (requests_given >= requests_kept || requests[requests_given].size != size)
			give_up("no earlier request is like this one");
		memcpy(request, requests[requests_given++].bytes, size);
	}
}

/* What was read, on its way to OP-TEE. */
static void touch_answer(uint8_t *answer, size_t size)
{
	const char *word = wire_word();

	if (size < FRAME_BYTES || frame_type(answer) != ANSWER_READ)
		return;
	if (!strcmp(word, "keep")) {
		keep(answers, &answers_kept, answer, size);
	} else if (!strcmp(word, "flip-answer")) {
		answer[size - FRAME_BYTES + FRAME_DATA] ^= 1;
	} else if (!strcmp(word, "old-answer")) {
		/* In the order in which they were given the first time. */
		if (answers_given < answers_kept && answers[answers_given].size == size)
			memcpy(answer, answers[answers_given].bytes, size);
		answers_given++;
	}
}

static void after_receive(const struct tee_ioctl_buf_data *data)
{
	const struct tee_iocl_supp_recv_arg *arg = (const void *)(uintptr_t)data->buf_ptr;
	const struct tee_ioctl_param *params = arg->params;
	uint32_t count = arg->num_params;

	/* In front there may be what tells one of several requests in work from the others. */
	if (count && params[0].attr & TEE_IOCTL_PARAM_ATTR_META) {
		params++;
		count--;
	}
	working = arg->func == RPC_RPMB && count >= 2;
	if (!working)
		return;
	memcpy(in_work, params, sizeof(in_work));
	touch_request(memory_of(&in_work[0]), in_work[0].b);
}

static void before_send(void)
{
	if (working) {
		touch_answer(memory_of(&in_work[1]), in_work[1].b);
		tell_device();
	}
	working = false;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list rest;
	void *data;
	int result;

	if (!real)
		next("ioctl", &real);
	va_start(rest, request);
	data = va_arg(rest, void *);
	va_end(rest);
	if (request == TEE_IOC_SUPPL_SEND)
		before_send();
	result = real(fd, request, data);
	if (result < 0)
		return result;
	if (request == TEE_IOC_SHM_REGISTER) {
		const struct tee_ioctl_shm_register_data *shm = data;

		share(shm->id, (void *)(uintptr_t)shm->addr);
	} else if (request == TEE_IOC_SUPPL_RECV) {
		after_receive(data);
	}
	return result;
}
