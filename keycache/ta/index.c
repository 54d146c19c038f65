/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For each slot of secure storage a hash of its client's id, its version and marks: 13 bytes. They are in frames of 16 slots, and
 * a bucket that is read has a list of frames. If no frame is free, the bucket that was used least recently gives up its
 * frames; when it is needed again it is read from secure storage, which is slow, and counted.
 *
 * Of a bucket without frames the highest version is kept. So a storage that is set back while the TA runs is found out
 * when the bucket is read again; with its frames, when a slot is read or written (store_put).
 *
 * The hash is keyed and of 64 bits: two clients of one bucket have the same with a chance of about 2^-64 for each pair,
 * and nobody can look for such a pair. If it happens, the slot's id tells (store_put, keys.c), and one of the two gets
 * errors until the TA is loaded anew. Never does one get the other's key.
 */
#include "index.h"

#include "siphash.h"

#define FRAME_SLOTS 16
#define NO_FRAME UINT32_MAX
#define FREE_SLOT 0

struct frame {
	uint64_t hashes[FRAME_SLOTS];
	uint32_t versions[FRAME_SLOTS];
	uint8_t marks[FRAME_SLOTS];
	uint32_t next;
};

enum state { UNREAD, READ, LOST };

struct bucket {
	enum state state;
	uint32_t first;
	uint32_t last;
	uint32_t slots;
	struct tally tally;
	uint32_t highest; /* version that is stored */
	uint32_t taken;   /* version that a relaxed SET has */
	uint64_t used;
};

static struct {
	struct frame *frames;
	uint32_t frame_count;
	uint32_t frames_taken;
	uint32_t free;
	uint32_t floor;
	uint64_t clock;
	uint64_t reads;
	uint64_t rolled_back;
	enum keycache_storage storage;
	struct bucket buckets[KEYCACHE_BUCKETS];
} table;

/* The highest versions of a storage that is not in use: to configure another one and back does not make them forgotten. */
static uint32_t remembered[KEYCACHE_RPMB + 1][KEYCACHE_BUCKETS];

_Static_assert(INDEX_LEAST >= KEYCACHE_BUCKET_SLOTS / FRAME_SLOTS * sizeof(struct frame), "a full bucket fits");
_Static_assert(KEYCACHE_BUCKET_SLOTS % FRAME_SLOTS == 0 && STORE_CHUNK % FRAME_SLOTS == 0, "frames are full");
_Static_assert(FRAME_SLOTS % STORE_GROWTH == 0, "what a bucket grows by is in one frame");

TEE_Result index_open(enum keycache_storage storage, size_t bytes, uint32_t floor)
{
	uint32_t number;

	index_close();
	if (bytes < INDEX_LEAST)
		return TEE_ERROR_BAD_PARAMETERS;
	table.frame_count = (uint32_t)(bytes / sizeof(struct frame));
	table.frames = TEE_Malloc(table.frame_count * sizeof(struct frame), TEE_MALLOC_FILL_ZERO);
	if (!table.frames) {
		table.frame_count = 0;
		return TEE_ERROR_OUT_OF_MEMORY;
	}
	for (number = 0; number < table.frame_count; number++)
		table.frames[number].next = number + 1 < table.frame_count ? number + 1 : NO_FRAME;
	for (number = 0; number < KEYCACHE_BUCKETS; number++)
		table.buckets[number] = (struct bucket){
			.first = NO_FRAME,
			.last = NO_FRAME,
			.highest = remembered[storage][number],
		};
	table.storage = storage;
	table.free = 0;
	table.floor = floor;
	return TEE_SUCCESS;
}

void index_close(void)
{
	uint64_t reads = table.reads;
	uint64_t rolled_back = table.rolled_back;
	uint32_t number;

	for (number = 0; table.frames && number < KEYCACHE_BUCKETS; number++)
		remembered[table.storage][number] = table.buckets[number].highest;
	TEE_Free(table.frames);
	TEE_MemFill(&table, 0, sizeof(table));
	table.reads = reads;
	table.rolled_back = rolled_back;
}

/* By a hash that is the same for ever (FNV-1a): only who may set keys can choose ids, and fill a bucket. */
uint32_t index_bucket(const struct id *id)
{
	uint32_t hash = 2166136261u;
	uint32_t at;

	for (at = 0; at < id->length; at++)
		hash = (hash ^ id->bytes[at]) * 16777619u;
	return (hash ^ hash >> 16) % KEYCACHE_BUCKETS;
}

static uint64_t hash_of(const struct id *id)
{
	uint64_t hash = siphash(id);

	return hash == FREE_SLOT ? 1 : hash;
}

/* Gives a bucket's frames back; what else is known of it stays. */
static void drop(struct bucket *bucket)
{
	uint32_t frame = bucket->first;
	uint32_t next;

	while (frame != NO_FRAME) {
		next = table.frames[frame].next;
		table.frames[frame].next = table.free;
		table.free = frame;
		table.frames_taken--;
		frame = next;
	}
	bucket->first = NO_FRAME;
	bucket->last = NO_FRAME;
	bucket->slots = 0;
	if (bucket->state == READ)
		bucket->state = UNREAD;
}

static bool drop_oldest(const struct bucket *but)
{
	struct bucket *oldest = NULL;
	uint32_t number;

	for (number = 0; number < KEYCACHE_BUCKETS; number++) {
		struct bucket *bucket = &table.buckets[number];

		if (bucket == but || bucket->first == NO_FRAME)
			continue;
		if (!oldest || bucket->used < oldest->used)
			oldest = bucket;
	}
	if (oldest)
		drop(oldest);
	return oldest;
}

/* One more frame, of free slots. */
static TEE_Result grow(struct bucket *bucket)
{
	uint32_t frame;

	if (table.free == NO_FRAME && !drop_oldest(bucket))
		return TEE_ERROR_OUT_OF_MEMORY;
	frame = table.free;
	table.free = table.frames[frame].next;
	TEE_MemFill(&table.frames[frame], 0, sizeof(table.frames[frame]));
	table.frames[frame].next = NO_FRAME;
	if (bucket->last == NO_FRAME)
		bucket->first = frame;
	else
		table.frames[bucket->last].next = frame;
	bucket->last = frame;
	table.frames_taken++;
	return TEE_SUCCESS;
}

static struct id id_of(const struct slot *slot)
{
	struct id id = { .length = slot->id_length & (uint8_t)~KEYCACHE_PREVIOUS,
			 .previous = slot->id_length & KEYCACHE_PREVIOUS };

	TEE_MemMove(id.bytes, slot->id, sizeof(id.bytes));
	return id;
}

/* What a bucket's object must not have, whoever wrote it. */
static bool valid(const struct slot *slot, uint32_t bucket)
{
	struct id id = id_of(slot);

	if (!slot->id_length)
		return true;
	if (!id.length || id.length > KEYCACHE_ID_BYTES || (slot->key_length != 16 && slot->key_length != 32))
		return false;
	return index_bucket(&id) == bucket;
}

static uint8_t marks_of(const struct slot *slot)
{
	uint8_t marks = MARK_TAKEN;

	if (!slot->id_length)
		return 0;
	if (slot->id_length & KEYCACHE_PREVIOUS)
		marks |= MARK_PREVIOUS;
	if (slot->flags & KEYCACHE_ENROLLED)
		marks |= MARK_ENROLLED;
	if (slot->flags & KEYCACHE_WORN)
		marks |= MARK_WORN | MARK_WEARING;
	if (slot->counted >= WEARING_COUNTED)
		marks |= MARK_WEARING;
	return marks;
}

/* Counts a slot of these marks `by` times: 1, or UINT32_MAX for -1. */
static void count_marks(struct tally *tally, uint8_t marks, uint32_t by)
{
	if (marks & MARK_PREVIOUS) {
		tally->previous += by;
		return;
	}
	tally->clients += marks & MARK_TAKEN ? by : 0;
	tally->enrolled += marks & MARK_ENROLLED ? by : 0;
	tally->wearing += marks & MARK_WEARING ? by : 0;
	tally->worn += marks & MARK_WORN ? by : 0;
}

/* Puts what is known of a slot into its place of a frame. */
static void enter(struct bucket *bucket, struct frame *frame, uint32_t at, const struct slot *slot)
{
	const struct id id = id_of(slot);

	count_marks(&bucket->tally, frame->marks[at], UINT32_MAX);
	frame->hashes[at] = slot->id_length ? hash_of(&id) : FREE_SLOT;
	frame->versions[at] = slot->version;
	frame->marks[at] = marks_of(slot);
	count_marks(&bucket->tally, frame->marks[at], 1);
	if (slot->version > bucket->highest)
		bucket->highest = slot->version;
}

static TEE_Result add(struct bucket *bucket, const struct slot *slot, uint32_t number)
{
	TEE_Result res;

	if (number % FRAME_SLOTS == 0) {
		res = grow(bucket);
		if (res)
			return res;
	}
	enter(bucket, &table.frames[bucket->last], number % FRAME_SLOTS, slot);
	return TEE_SUCCESS;
}

static TEE_Result read_bucket(uint32_t number)
{
	struct bucket *bucket = &table.buckets[number];
	uint32_t highest = bucket->highest;
	const struct tally tally = bucket->tally;
	const struct slot *slots;
	struct store_reader reader;
	uint32_t total = 0;
	uint32_t count;
	uint32_t at;
	TEE_Result res = store_begin(number, &total, &reader);

	table.reads++;
	bucket->highest = 0;
	bucket->tally = (struct tally){ 0 };
	while (!res && bucket->slots < total) {
		res = store_next(&reader, 0, &slots, &count);
		/* Then there is nothing open any more. */
		if (res)
			break;
		for (at = 0; !res && at < count; at++) {
			res = valid(&slots[at], number) ? add(bucket, &slots[at], bucket->slots)
							: TEE_ERROR_CORRUPT_OBJECT;
			bucket->slots += !res;
		}
		if (res)
			store_end(&reader);
	}
	if (!res)
		store_end(&reader);
	if (!res && bucket->highest < highest) {
		table.rolled_back++;
		res = TEE_ERROR_CORRUPT_OBJECT;
	}
	if (res) {
		bucket->highest = highest;
		bucket->tally = tally;
		drop(bucket);
	}
	if (!res)
		bucket->state = READ;
	else if (res == TEE_ERROR_CORRUPT_OBJECT)
		bucket->state = LOST;
	return res;
}

static TEE_Result need(uint32_t number)
{
	struct bucket *bucket = &table.buckets[number];

	bucket->used = ++table.clock;
	if (bucket->state == LOST)
		return TEE_ERROR_CORRUPT_OBJECT;
	return bucket->state == READ ? TEE_SUCCESS : read_bucket(number);
}

TEE_Result index_read_all(void)
{
	TEE_ObjectHandle held;
	TEE_Result res = store_hold(&held);
	uint32_t number;

	if (res)
		return res;
	for (number = 0; !res && number < KEYCACHE_BUCKETS; number++) {
		res = need(number);
		if (res == TEE_ERROR_CORRUPT_OBJECT)
			res = TEE_SUCCESS;
	}
	store_release(held);
	return res;
}

/* The first slot of a read bucket with this hash. */
static bool scan(const struct bucket *bucket, uint64_t hash, struct place *place)
{
	const struct frame *frame;
	uint32_t begin = 0;
	uint32_t number;
	uint32_t at;

	for (number = bucket->first; number != NO_FRAME; number = frame->next) {
		frame = &table.frames[number];
		for (at = 0; at < FRAME_SLOTS && begin + at < bucket->slots; at++) {
			if (frame->hashes[at] != hash)
				continue;
			place->slot = begin + at;
			place->version = frame->versions[at];
			place->marks = frame->marks[at];
			return true;
		}
		begin += FRAME_SLOTS;
	}
	return false;
}

TEE_Result index_find(const struct id *id, struct place *place)
{
	TEE_Result res;

	place->bucket = index_bucket(id);
	place->grows = false;
	res = need(place->bucket);
	if (res)
		return res;
	return scan(&table.buckets[place->bucket], hash_of(id), place) ? TEE_SUCCESS : KEYCACHE_NO_KEY;
}

TEE_Result index_room(const struct id *id, struct place *place)
{
	struct bucket *bucket;
	TEE_Result res;

	place->bucket = index_bucket(id);
	res = need(place->bucket);
	if (res)
		return res;
	bucket = &table.buckets[place->bucket];
	place->grows = !scan(bucket, FREE_SLOT, place);
	if (!place->grows)
		return TEE_SUCCESS;
	if (bucket->slots + STORE_GROWTH > KEYCACHE_BUCKET_SLOTS)
		return TEE_ERROR_STORAGE_NO_SPACE;
	place->slot = bucket->slots;
	place->version = 0;
	place->marks = 0;
	return TEE_SUCCESS;
}

TEE_Result index_next_version(uint32_t number, uint32_t *version)
{
	const struct bucket *bucket = &table.buckets[number];
	uint32_t last = table.floor;

	if (bucket->highest > last)
		last = bucket->highest;
	if (bucket->taken > last)
		last = bucket->taken;
	if (last == UINT32_MAX)
		return TEE_ERROR_OVERFLOW;
	*version = last + 1;
	return TEE_SUCCESS;
}

void index_take_version(uint32_t number, uint32_t version)
{
	if (table.buckets[number].taken < version)
		table.buckets[number].taken = version;
}

void index_note(const struct place *place, const struct slot *slot)
{
	struct bucket *bucket = &table.buckets[place->bucket];
	uint32_t number = bucket->first;
	uint32_t at = place->slot;

	if (place->grows) {
		/* The bound holds a full bucket, so there is a frame, if another bucket's. */
		if (bucket->slots % FRAME_SLOTS == 0)
			(void)grow(bucket);
		bucket->slots += STORE_GROWTH;
		number = bucket->first;
	}
	for (; at >= FRAME_SLOTS; at -= FRAME_SLOTS)
		number = table.frames[number].next;
	enter(bucket, &table.frames[number], at, slot);
}

void index_doubt(uint32_t number)
{
	if (table.buckets[number].state == READ)
		drop(&table.buckets[number]);
}

void index_lose(uint32_t number)
{
	struct bucket *bucket = &table.buckets[number];

	drop(bucket);
	bucket->state = LOST;
	table.rolled_back++;
}

bool index_is_lost(uint32_t number)
{
	return table.buckets[number].state == LOST;
}

void index_retry(void)
{
	uint32_t number;

	for (number = 0; number < KEYCACHE_BUCKETS; number++)
		if (table.buckets[number].state == LOST)
			table.buckets[number].state = UNREAD;
}

void index_renew(uint32_t number)
{
	struct bucket *bucket = &table.buckets[number];

	drop(bucket);
	bucket->state = UNREAD;
	bucket->highest = 0;
	bucket->tally = (struct tally){ 0 };
}

void index_forget(void)
{
	TEE_MemFill(remembered, 0, sizeof(remembered));
	table.reads = 0;
	table.rolled_back = 0;
}

struct tally index_tally(void)
{
	struct tally sum = { 0 };
	uint32_t number;

	for (number = 0; number < KEYCACHE_BUCKETS; number++) {
		const struct bucket *bucket = &table.buckets[number];

		if (bucket->state == LOST)
			continue;
		sum.clients += bucket->tally.clients;
		sum.previous += bucket->tally.previous;
		sum.enrolled += bucket->tally.enrolled;
		sum.wearing += bucket->tally.wearing;
		sum.worn += bucket->tally.worn;
	}
	return sum;
}

uint32_t index_lost(void)
{
	uint32_t count = 0;
	uint32_t number;

	for (number = 0; number < KEYCACHE_BUCKETS; number++)
		count += table.buckets[number].state == LOST;
	return count;
}

uint32_t index_bytes(void)
{
	return table.frames_taken * (uint32_t)sizeof(struct frame);
}

uint32_t index_bound(void)
{
	return table.frame_count * (uint32_t)sizeof(struct frame);
}

uint64_t index_reads(void)
{
	return table.reads;
}

uint64_t index_rolled_back(void)
{
	return table.rolled_back;
}
