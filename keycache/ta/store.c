/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects: "meta", and for each bucket one that begins with a header and goes on with slots.
 *
 * A client has a slot in the bucket that a hash of its id names. One object for each client would be simpler, and is
 * what naive.c does; but opening an object of the REE file system costs a part that grows with the number of objects,
 * and with 100,000 of them it is all that is paid for. An object's blocks cost too, when it is opened: so there are as
 * many buckets as make the sum least for the largest number of clients that is planned with.
 *
 * A change is one TEE_WriteObjectData, which OP-TEE does whole or not at all in both storages (worldwise measured it). Memory
 * that is shared with the normal world never gets here: OP-TEE 4.10 does not let RPMB's objects be read or written there.
 */
#include "store.h"

#include <stddef.h>
#include <tee_api_defines_extensions.h>

#define META_MAGIC 0x4d434b4bu
#define BUCKET_MAGIC 0x42434b4bu
#define FORMAT 1
#define META_FORMAT 2
#define META_BYTES_1 offsetof(struct meta, floor)

#define READ TEE_DATA_FLAG_ACCESS_READ
#define WRITE TEE_DATA_FLAG_ACCESS_WRITE
#define DELETE TEE_DATA_FLAG_ACCESS_WRITE_META

/*
 * OP-TEE has 24 bytes of its own before an object's data. With these 104, a slot never crosses a block of RPMB (256
 * bytes), and writing it is one write of one block: otherwise OP-TEE writes the whole object anew.
 */
struct header {
	uint32_t magic;
	uint32_t format;
	uint32_t bucket;
	uint8_t spare[92];
};

_Static_assert(sizeof(struct slot) == 128, "two slots fill a block of RPMB");
_Static_assert(META_BYTES_1 == 48 && sizeof(struct meta) == 296, "meta has no gaps");
_Static_assert(sizeof(struct header) + 24 == sizeof(struct slot), "slots begin at multiples of their size");

static uint32_t storage_id;
/* Every write and read of slots goes through here; wiped when it is done. */
static struct slot chunk[STORE_CHUNK];

/* An object that was found corrupt is gone, and its handle with it. */
static void close_after(TEE_ObjectHandle object, TEE_Result res)
{
	if (res != TEE_ERROR_CORRUPT_OBJECT)
		TEE_CloseObject(object);
}

static TEE_Result open_bucket(uint32_t bucket, uint32_t flags, TEE_ObjectHandle *object)
{
	char name[] = "bucket-00";

	name[sizeof(name) - 3] = (char)('0' + bucket / 10);
	name[sizeof(name) - 2] = (char)('0' + bucket % 10);
	return TEE_OpenPersistentObject(storage_id, name, sizeof(name) - 1, flags, object);
}

static TEE_Result create_bucket(uint32_t bucket)
{
	char name[] = "bucket-00";
	const struct header header = { .magic = BUCKET_MAGIC, .format = FORMAT, .bucket = bucket };
	TEE_ObjectHandle object;
	TEE_Result res;

	name[sizeof(name) - 3] = (char)('0' + bucket / 10);
	name[sizeof(name) - 2] = (char)('0' + bucket % 10);
	res = TEE_CreatePersistentObject(storage_id, name, sizeof(name) - 1, READ | WRITE, TEE_HANDLE_NULL, &header,
					 sizeof(header), &object);
	if (!res)
		TEE_CloseObject(object);
	return res;
}

static TEE_Result open_meta(uint32_t flags, TEE_ObjectHandle *object)
{
	return TEE_OpenPersistentObject(storage_id, "meta", 4, flags, object);
}

static TEE_Result read_meta(struct meta *meta)
{
	TEE_ObjectHandle object;
	size_t count = 0;
	TEE_Result res = open_meta(READ, &object);

	if (res)
		return res;
	res = TEE_ReadObjectData(object, meta, sizeof(*meta), &count);
	close_after(object, res);
	if (!res && (count < META_BYTES_1 || meta->magic != META_MAGIC))
		res = TEE_ERROR_BAD_FORMAT;
	if (!res && !(meta->format == META_FORMAT && count == sizeof(*meta)) &&
	    !(meta->format == 1 && count == META_BYTES_1))
		res = TEE_ERROR_BAD_FORMAT;
	if (res)
		wipe(meta, sizeof(*meta));
	return res;
}

static TEE_Result create_meta(const struct meta *meta)
{
	TEE_ObjectHandle object;
	TEE_Result res = TEE_CreatePersistentObject(storage_id, "meta", 4, WRITE, TEE_HANDLE_NULL, meta, sizeof(*meta),
						    &object);

	if (!res)
		TEE_CloseObject(object);
	return res;
}

/* A bucket that is there already, whole, stays as it is. */
static TEE_Result make_bucket(uint32_t bucket)
{
	TEE_ObjectHandle object;
	TEE_Result res = create_bucket(bucket);

	if (res != TEE_ERROR_ACCESS_CONFLICT)
		return res;
	res = open_bucket(bucket, READ, &object);
	if (!res)
		TEE_CloseObject(object);
	return res == TEE_ERROR_CORRUPT_OBJECT ? create_bucket(bucket) : res;
}

static TEE_Result make_buckets(void)
{
	TEE_ObjectHandle held = TEE_HANDLE_NULL;
	TEE_Result res = TEE_SUCCESS;
	uint32_t bucket;

	for (bucket = 0; !res && bucket < KEYCACHE_BUCKETS; bucket++) {
		res = make_bucket(bucket);
		/* See store_hold(). */
		if (!res && !bucket)
			res = open_bucket(bucket, READ, &held);
	}
	if (bucket > 1)
		TEE_CloseObject(held);
	return res == TEE_ERROR_ITEM_NOT_FOUND ? TEE_ERROR_STORAGE_NOT_AVAILABLE : res;
}

TEE_Result store_hold(TEE_ObjectHandle *held)
{
	return open_meta(READ, held);
}

void store_release(TEE_ObjectHandle held)
{
	TEE_CloseObject(held);
}

/* Of a TA that knew no authority: its keys and records stay as they are. */
static TEE_Result take_over(struct meta *meta)
{
	TEE_Result res = point_make(&meta->pair);

	meta->format = META_FORMAT;
	if (!res)
		res = store_save_meta(meta);
	if (res)
		wipe(meta, sizeof(*meta));
	return res;
}

TEE_Result store_open(enum keycache_storage storage, struct meta *meta)
{
	TEE_Result res;

	storage_id = storage == KEYCACHE_RPMB ? TEE_STORAGE_PRIVATE_RPMB : TEE_STORAGE_PRIVATE_REE;
	res = read_meta(meta);
	if (!res && meta->format == 1)
		return take_over(meta);
	/* Where there is meta, there were all buckets: one that is missing is lost, and not to be made here. */
	if (res != TEE_ERROR_ITEM_NOT_FOUND && res != TEE_ERROR_CORRUPT_OBJECT)
		return res;
	res = make_buckets();
	if (res)
		return res;
	*meta = (struct meta){ .magic = META_MAGIC, .format = META_FORMAT };
	TEE_GenerateRandom(meta->seal_key, sizeof(meta->seal_key));
	res = point_make(&meta->pair);
	if (!res)
		res = create_meta(meta);
	if (res)
		wipe(meta, sizeof(*meta));
	return res;
}

TEE_Result store_save_meta(const struct meta *meta)
{
	TEE_ObjectHandle object;
	TEE_Result res = open_meta(WRITE, &object);

	/* Lost while the TA runs: it still knows what was there. */
	if (res == TEE_ERROR_ITEM_NOT_FOUND || res == TEE_ERROR_CORRUPT_OBJECT)
		return create_meta(meta);
	if (res)
		return res;
	res = TEE_WriteObjectData(object, meta, sizeof(*meta));
	close_after(object, res);
	return res;
}

/* How many slots an open bucket has; it is closed if it is not ours. */
static TEE_Result check_bucket(TEE_ObjectHandle object, uint32_t bucket, uint32_t *slots)
{
	TEE_ObjectInfo info;
	struct header header;
	size_t count = 0;
	TEE_Result res = TEE_GetObjectInfo1(object, &info);

	if (!res)
		res = TEE_ReadObjectData(object, &header, sizeof(header), &count);
	if (res) {
		close_after(object, res);
		return res;
	}
	if (count != sizeof(header) || header.magic != BUCKET_MAGIC || header.format != FORMAT ||
	    header.bucket != bucket || (info.dataSize - sizeof(header)) % sizeof(struct slot) ||
	    (info.dataSize - sizeof(header)) / sizeof(struct slot) > KEYCACHE_BUCKET_SLOTS) {
		TEE_CloseObject(object);
		return TEE_ERROR_CORRUPT_OBJECT;
	}
	*slots = (uint32_t)((info.dataSize - sizeof(header)) / sizeof(struct slot));
	return TEE_SUCCESS;
}

static TEE_Result open_checked(uint32_t bucket, uint32_t flags, TEE_ObjectHandle *object, uint32_t *slots)
{
	TEE_Result res = open_bucket(bucket, flags, object);

	if (res == TEE_ERROR_ITEM_NOT_FOUND)
		return TEE_ERROR_CORRUPT_OBJECT;
	return res ? res : check_bucket(*object, bucket, slots);
}

TEE_Result store_begin(uint32_t bucket, uint32_t *slots, struct store_reader *reader)
{
	TEE_Result res = open_checked(bucket, READ, &reader->object, slots);

	reader->left = res ? 0 : *slots;
	return res;
}

TEE_Result store_next(struct store_reader *reader, uint32_t skip, const struct slot **slots, uint32_t *count)
{
	size_t bytes;
	size_t read = 0;
	TEE_Result res = TEE_SUCCESS;

	*slots = chunk;
	*count = 0;
	if (reader->left <= skip)
		return TEE_SUCCESS;
	reader->left -= skip;
	*count = reader->left < STORE_CHUNK ? reader->left : STORE_CHUNK;
	bytes = *count * sizeof(struct slot);
	if (skip)
		res = TEE_SeekObjectData(reader->object, (intmax_t)(skip * sizeof(struct slot)), TEE_DATA_SEEK_CUR);
	if (!res)
		res = TEE_ReadObjectData(reader->object, chunk, bytes, &read);
	if (!res && read != bytes) {
		TEE_CloseObject(reader->object);
		res = TEE_ERROR_CORRUPT_OBJECT;
	} else if (res) {
		close_after(reader->object, res);
	}
	if (res)
		wipe(chunk, sizeof(chunk));
	else
		reader->left -= *count;
	return res;
}

void store_end(struct store_reader *reader)
{
	wipe(chunk, sizeof(chunk));
	TEE_CloseObject(reader->object);
}

/* To a slot of an object whose header was just read. */
static TEE_Result seek(TEE_ObjectHandle object, uint32_t number)
{
	return TEE_SeekObjectData(object, (intmax_t)(sizeof(struct header) + number * sizeof(struct slot)),
				  TEE_DATA_SEEK_SET);
}

static TEE_Result read_slot(TEE_ObjectHandle object, uint32_t number, struct slot *slot)
{
	size_t count = 0;
	TEE_Result res = seek(object, number);

	if (!res)
		res = TEE_ReadObjectData(object, slot, sizeof(*slot), &count);
	/* The file was long enough when it was opened. Closed by the caller, as after any other error. */
	if (!res && count != sizeof(*slot))
		res = TEE_ERROR_SECURITY;
	return res;
}

TEE_Result store_get(uint32_t bucket, uint32_t number, struct slot *slot)
{
	TEE_ObjectHandle object;
	uint32_t slots = 0;
	TEE_Result res = open_checked(bucket, READ, &object, &slots);

	if (res)
		return res;
	res = number < slots ? read_slot(object, number, slot) : TEE_ERROR_SECURITY;
	close_after(object, res);
	return res;
}

TEE_Result store_put(uint32_t bucket, uint32_t number, const struct slot *slot, const struct slot *old)
{
	TEE_ObjectHandle object;
	uint32_t slots = 0;
	uint32_t count = old ? 1 : STORE_GROWTH;
	TEE_Result res = open_checked(bucket, READ | WRITE, &object, &slots);

	if (res)
		return res;
	if (old ? number >= slots : number != slots)
		res = TEE_ERROR_SECURITY;
	if (!res && old) {
		res = read_slot(object, number, &chunk[0]);
		if (!res && (chunk[0].version != old->version || chunk[0].id_length != old->id_length ||
			     TEE_MemCompare(chunk[0].id, old->id, sizeof(old->id))))
			res = TEE_ERROR_SECURITY;
	}
	if (!res)
		res = seek(object, number);
	if (!res) {
		TEE_MemFill(chunk, 0, count * sizeof(struct slot));
		chunk[0] = *slot;
		res = TEE_WriteObjectData(object, chunk, count * sizeof(struct slot));
	}
	wipe(chunk, count * sizeof(struct slot));
	close_after(object, res);
	return res;
}

TEE_Result store_renew(uint32_t bucket)
{
	TEE_ObjectHandle object;
	TEE_Result res = open_bucket(bucket, DELETE, &object);

	if (!res)
		res = TEE_CloseAndDeletePersistentObject1(object);
	if (res && res != TEE_ERROR_ITEM_NOT_FOUND && res != TEE_ERROR_CORRUPT_OBJECT)
		return res;
	return create_bucket(bucket);
}
