/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is stored outside the TEE, as a list of writes in their order: the journal of a machine that may be stopped at
 * any instruction, and in the same form a whole state of the storage.
 */
#ifndef WORLDWISE_APPS_FAULTS_JOURNAL_H
#define WORLDWISE_APPS_FAULTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where tee-supplicant keeps the files of the REE file system, and in which process the emulated RPMB device is. */
#define STORE_DIRECTORY "/var/lib/optee-client/data/tee"
#define SUPPLICANT "tee-supplicant"

/* If this file is there when tee-supplicant first writes, it keeps a journal on the host. */
#define JOURNAL_SWITCH "/tmp/journal"
#define JOURNAL_FILE "journal"
/* What is done to messages between OP-TEE and the RPMB device: one word, read anew for each message. */
#define WIRE_SWITCH "/tmp/wire"

#define JOURNAL_MAGIC 0x6c6a7777u
#define JOURNAL_NAME 32
#define SECTOR_BYTES 512

enum journal_kind {
	JOURNAL_CREATE = 1, /* the file `name` is there and empty */
	JOURNAL_WRITE,      /* the data at `offset` of it */
	JOURNAL_TRUNCATE,   /* it has `offset` bytes */
	JOURNAL_RENAME,     /* it is called what the data says */
	JOURNAL_REMOVE,
	JOURNAL_DEVICE, /* the RPMB device: struct device_state, then struct device_block */
};

/* Followed by `length` bytes of data. Little endian, as host and guest are. */
struct journal_entry {
	uint32_t magic;
	uint32_t kind;
	uint64_t offset;
	uint32_t length;
	uint32_t unused;
	char name[JOURNAL_NAME];
};

#define DEVICE_BLOCK 256
#define DEVICE_BLOCKS 1024
#define DEVICE_BYTES (DEVICE_BLOCK * DEVICE_BLOCKS)

/* The emulated RPMB device as it stands in the memory of Debian's tee-supplicant 4.5.0. */
struct device {
	uint8_t blocks[DEVICE_BLOCKS][DEVICE_BLOCK];
	uint64_t bytes; /* DEVICE_BYTES: by this it is found */
	uint8_t key[32];
	bool key_set;
	uint8_t nonce[16];
	uint32_t write_counter;
	uint16_t last_type;
	uint16_t last_result;
	uint16_t last_address;
};

/* What of the device outlasts a power cut besides its blocks. */
struct device_state {
	uint8_t key[32];
	uint32_t key_set;
	uint32_t write_counter;
	uint32_t blocks; /* how many follow */
};

struct device_block {
	uint32_t index;
	uint8_t data[DEVICE_BLOCK];
};

/* The device within some memory: its offset, or `size` if it is not there. `after` may continue a search, 0 begins it. */
static inline size_t find_device(const uint8_t *memory, size_t size, size_t after)
{
	for (size_t at = after; at + sizeof(struct device) <= size; at += sizeof(uint64_t))
		if (((const struct device *)(const void *)(memory + at))->bytes == DEVICE_BYTES)
			return at;
	return size;
}

#endif /* WORLDWISE_APPS_FAULTS_JOURNAL_H */
