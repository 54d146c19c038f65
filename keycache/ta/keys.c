/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules:
 * - A key's version is the next one of its bucket, and no version is given twice under one seal key. So a record is
 *   current if its version is the one that the index has, and no older one ever is again.
 * - A SET is written before it is answered, in one write that is whole or not at all. A relaxed one waits in the TA's
 *   memory, and its version is beyond what secure storage has: so a bound on such versions is stored first
 *   (meta.reserved_version), and after a restart versions go on above it. Records of SETs that were lost stay stale.
 * - After a write that failed, what secure storage has is not known: it is read again before it is used.
 * - A previous key is written before its successor, and removed before it: so there is none without a current one.
 * - What meta has to know of an enrolment, or of an enrolled key's removal, is written before either.
 */
#include "keys.h"

#include "cache.h"
#include "index.h"
#include "naive.h"
#include "records.h"
#include "store.h"

/* How many versions a write of meta reserves for relaxed SETs. */
#define RESERVE 4096

/* How many chunks and empty buckets LIST and BACKUP read at most in one call. */
#define WALK_STEPS 16

/* A relaxed SET that is not written. */
struct waiting {
	struct id id; /* of length 0: free */
	struct key key;
	uint32_t version;
};

static struct config config;
static bool configured;
static struct meta meta;
static uint8_t device[DIGEST_BYTES];
static struct waiting waiting[KEYCACHE_RELAXED_MOST];
static uint32_t waiting_count;
/* Some of them could not be written: until they are, each SET is written at once, so that its error is heard. */
static bool flush_failed;

static struct {
	uint64_t hits;
	uint64_t misses;
	uint64_t record_opens;
	uint64_t slow_reads;
	uint64_t slow_writes;
	uint64_t stale;
	uint64_t forged;
	uint64_t host_evictions;
	uint64_t failed_flushes;
	uint64_t use_denied;
} counts;

bool keys_configured(void)
{
	return configured;
}

bool keys_naive(void)
{
	return config.flags & KEYCACHE_NAIVE;
}

bool keys_can_be_got(void)
{
	return config.flags & KEYCACHE_ALLOW_GET;
}

uint8_t keys_flags(uint8_t wanted)
{
	/* Nobody gets a key that is not for OPEN. */
	if (!keys_can_be_got() || wanted & KEYCACHE_NO_OPEN)
		wanted &= (uint8_t)~KEYCACHE_GETTABLE;
	return wanted;
}

void keys_denied(void)
{
	counts.use_denied++;
}

const struct meta *keys_meta(void)
{
	return &meta;
}

const uint8_t *keys_device(void)
{
	return device;
}

TEE_Result keys_save_meta(const struct meta *changed)
{
	TEE_Result res = store_save_meta(changed);

	if (!res)
		meta = *changed;
	return res;
}

static void close_all(void)
{
	cache_close();
	index_close();
	wipe(&meta, sizeof(meta));
	wipe(waiting, sizeof(waiting));
	waiting_count = 0;
	flush_failed = false;
	configured = false;
}

static size_t cache_bytes_of(const struct config *of)
{
	return of->policy == KEYCACHE_POLICY_NONE ? 0 : of->cache_bytes;
}

static TEE_Result open_all(void)
{
	TEE_Result res;

	if (keys_naive())
		return naive_open(config.storage);
	res = store_open(config.storage, &meta);
	if (!res)
		digest(meta.pair.point, sizeof(meta.pair.point), device);
	if (!res)
		res = records_use(meta.seal_key);
	if (!res)
		res = index_open(config.storage, config.index_bytes, meta.reserved_version);
	if (!res)
		res = cache_open(cache_bytes_of(&config));
	if (!res)
		res = index_read_all();
	return res;
}

static bool same_storage(const struct config *wanted)
{
	return config.storage == wanted->storage && config.index_bytes == wanted->index_bytes &&
	       !((config.flags ^ wanted->flags) & KEYCACHE_NAIVE);
}

static TEE_Result begin_cache(const struct config *wanted)
{
	config = *wanted;
	return keys_naive() ? TEE_SUCCESS : cache_open(cache_bytes_of(wanted));
}

/*
 * What secure storage has is known, which costs a look at all of it: only the cache begins anew. If that fails, the old
 * configuration stays, if need be without a cache: what waits must not be lost.
 */
static TEE_Result configure_cache(const struct config *wanted)
{
	const struct config before = config;
	TEE_Result res = begin_cache(wanted);

	if (!res && !keys_naive()) {
		index_retry();
		res = index_read_all();
	}
	if (res && begin_cache(&before))
		(void)cache_open(0);
	return res;
}

static TEE_Result configure_all(const struct config *wanted)
{
	TEE_Result res;

	close_all();
	config = *wanted;
	res = open_all();
	if (res)
		close_all();
	else
		configured = true;
	return res;
}

TEE_Result keys_configure(const struct config *wanted)
{
	const struct config before = config;
	bool was = configured;
	TEE_Result res;

	if (configured) {
		if (config.storage == wanted->storage && config.policy == wanted->policy &&
		    config.cache_bytes == wanted->cache_bytes && config.index_bytes == wanted->index_bytes &&
		    config.flags == wanted->flags)
			return TEE_SUCCESS;
		res = keys_flush();
		/* What the storage does not take now waits on; only another storage would lose it. */
		if (same_storage(wanted))
			return configure_cache(wanted);
		if (res)
			return res;
	}
	res = configure_all(wanted);
	/* Or one wrong configuration would leave its server without any. */
	if (res && was)
		(void)configure_all(&before);
	return res;
}

void keys_close(void)
{
	if (configured)
		(void)keys_flush();
	close_all();
	index_forget();
	TEE_MemFill(&counts, 0, sizeof(counts));
}

static struct waiting *find_waiting(const struct id *id)
{
	uint32_t number;

	for (number = 0; waiting_count && number < KEYCACHE_RELAXED_MOST; number++)
		if (waiting[number].id.length && id_equal(&waiting[number].id, id))
			return &waiting[number];
	return NULL;
}

static void drop_waiting(struct waiting *which)
{
	if (!which)
		return;
	wipe(which, sizeof(*which));
	waiting_count--;
}

/* A client's current version, and where it is stored, unless it only waits (`where` is not set then). */
static TEE_Result find(const struct id *id, uint32_t *version, struct place *where, const struct waiting **wait)
{
	TEE_Result res;

	*wait = find_waiting(id);
	if (*wait) {
		*version = (*wait)->version;
		return TEE_SUCCESS;
	}
	res = index_find(id, where);
	if (!res)
		*version = where->version;
	return res;
}

/* What a read or write of a bucket that the index knows found: TEE_ERROR_SECURITY if it is not what the index has. */
static TEE_Result judge(uint32_t bucket, TEE_Result res)
{
	if (res == TEE_ERROR_SECURITY) {
		index_lose(bucket);
		return TEE_ERROR_CORRUPT_OBJECT;
	}
	if (res)
		index_doubt(bucket);
	return res;
}

/* Under the host's policy: makes room if there is none. */
static bool make_room(const struct keycache_offer *offer)
{
	struct id victim = { .length = offer->victim_length & (uint8_t)~KEYCACHE_PREVIOUS,
			     .previous = offer->victim_length & KEYCACHE_PREVIOUS };

	if (!cache_full())
		return true;
	if (!victim.length || victim.length > KEYCACHE_ID_BYTES)
		return false;
	TEE_MemMove(victim.bytes, offer->victim, victim.length);
	if (!cache_remove(&victim))
		return false;
	counts.host_evictions++;
	return true;
}

/* Opens an offered record, and keeps the key if the policy says so; `*kept` is whether it did. */
static TEE_Result open_offer(const struct id *id, const struct keycache_offer *offer, struct key *key, bool *kept)
{
	const struct waiting *wait;
	struct place place;
	uint32_t version = 0;
	TEE_Result res = find(id, &version, &place, &wait);

	*kept = false;
	if (res)
		return res;
	if (!offer) {
		counts.misses++;
		return KEYCACHE_MISS;
	}
	res = record_open(&offer->record, id, version, key);
	counts.stale += res == KEYCACHE_STALE;
	counts.forged += res == KEYCACHE_FORGED;
	if (res)
		return res;
	counts.record_opens++;
	*kept = config.policy == KEYCACHE_POLICY_LRU ||
		(config.policy == KEYCACHE_POLICY_HOST && offer->keep && make_room(offer));
	if (*kept)
		cache_put(id, key);
	return TEE_SUCCESS;
}

TEE_Result keys_use(const struct id *id, const struct keycache_offer *offer, struct key *key, bool *cached)
{
	const struct key *found;
	bool kept;

	*cached = false;
	if (keys_naive()) {
		counts.slow_reads++;
		return naive_get(id, key);
	}
	found = cache_get(id);
	if (!found)
		return open_offer(id, offer, key, &kept);
	*key = *found;
	*cached = true;
	counts.hits++;
	return TEE_SUCCESS;
}

bool keys_paired(const struct slot *slot)
{
	return !TEE_MemCompare(slot->paired, device, sizeof(slot->paired));
}

/*
 * Writes a slot of a client's: a key, or a removal (no id_length). One that has waited may have an older version than what its
 * place has now (a failed write that took effect, another client): it gets a new one then, or the bucket's highest version would
 * go back, and look like an older storage. Its record is stale, and made anew when it is needed.
 */
static TEE_Result put(const struct id *id, struct slot *slot)
{
	struct slot old = { 0 };
	struct place place = { 0 };
	TEE_Result res = index_find(id, &place);

	if (!res) {
		old.id_length = id_mark(id);
		TEE_MemMove(old.id, id->bytes, sizeof(old.id));
	} else if (res == KEYCACHE_NO_KEY && slot->id_length) {
		res = index_room(id, &place);
	}
	if (!res && slot->version <= place.version)
		res = index_next_version(place.bucket, &slot->version);
	if (res)
		return res;
	old.version = place.version;
	counts.slow_writes++;
	res = judge(place.bucket, store_put(place.bucket, place.slot, slot, place.grows ? NULL : &old));
	if (res)
		/* The old key or the new one: which it is, secure storage has to say. */
		(void)cache_remove(id);
	else
		index_note(&place, slot);
	return res;
}

static TEE_Result write(const struct id *id, const struct key *key, uint32_t version, uint64_t serial)
{
	struct slot slot = { .version = version,
			     .id_length = id_mark(id),
			     .key_length = key->length,
			     .flags = key->flags,
			     .serial = serial };
	TEE_Result res;

	TEE_MemMove(slot.id, id->bytes, sizeof(slot.id));
	TEE_MemMove(slot.key, key->bytes, key->length);
	if (meta.trusted)
		TEE_MemMove(slot.paired, device, sizeof(slot.paired));
	res = put(id, &slot);
	wipe(&slot, sizeof(slot));
	return res;
}

static TEE_Result write_removal(const struct id *id)
{
	struct slot slot = { 0 };

	/* Of version 0: put() takes the bucket's next one. */
	return put(id, &slot);
}

TEE_Result keys_flush(void)
{
	TEE_Result last = TEE_SUCCESS;
	uint32_t number;
	TEE_Result res;

	for (number = 0; waiting_count && number < KEYCACHE_RELAXED_MOST; number++) {
		if (!waiting[number].id.length)
			continue;
		res = write(&waiting[number].id, &waiting[number].key, waiting[number].version, 0);
		if (res) {
			counts.failed_flushes++;
			last = res;
		} else {
			drop_waiting(&waiting[number]);
		}
	}
	flush_failed = last != TEE_SUCCESS;
	return last;
}

/* Makes sure that no later life of the TA gives this version again. */
static TEE_Result reserve(uint32_t version)
{
	struct meta reserved = meta;
	TEE_Result res;

	if (version <= meta.reserved_version)
		return TEE_SUCCESS;
	reserved.reserved_version = version > UINT32_MAX - RESERVE ? UINT32_MAX : version + RESERVE;
	res = keys_save_meta(&reserved);
	wipe(&reserved, sizeof(reserved));
	return res;
}

static TEE_Result wait(const struct id *id, const struct key *key, uint32_t version)
{
	struct waiting *place = find_waiting(id);
	TEE_Result res;

	if (!place && waiting_count == KEYCACHE_RELAXED_MOST) {
		res = keys_flush();
		if (waiting_count == KEYCACHE_RELAXED_MOST)
			return res;
	}
	res = reserve(version);
	if (res)
		return res;
	if (!place) {
		for (place = waiting; place->id.length; place++)
			;
		waiting_count++;
	}
	place->id = *id;
	place->key = *key;
	place->version = version;
	index_take_version(index_bucket(id), version);
	return TEE_SUCCESS;
}

/* From now on no older record opens, whoever has it: each is made anew from secure storage when it is needed. */
static TEE_Result renew_seal_key(uint64_t floor)
{
	struct meta renewed = meta;
	TEE_Result res;

	renewed.floor = floor;
	TEE_GenerateRandom(renewed.seal_key, sizeof(renewed.seal_key));
	res = keys_save_meta(&renewed);
	wipe(&renewed, sizeof(renewed));
	return res ? res : records_use(meta.seal_key);
}

static TEE_Result seal_record(const struct id *id, uint32_t version, const struct key *key,
			      struct keycache_record *record)
{
	TEE_Result res = record_seal(id, version, key, record);

	if (res || !record_is_last(record))
		return res;
	res = renew_seal_key(meta.floor);
	return res ? res : record_seal(id, version, key, record);
}

static TEE_Result read_slot(const struct id *id, const struct place *place, struct slot *slot)
{
	TEE_Result res = store_get(place->bucket, place->slot, slot);

	counts.slow_reads++;
	if (!res && (slot->version != place->version || slot->id_length != id_mark(id) ||
		     TEE_MemCompare(slot->id, id->bytes, sizeof(slot->id))))
		res = TEE_ERROR_SECURITY;
	res = judge(place->bucket, res);
	if (res)
		wipe(slot, sizeof(*slot));
	return res;
}

/* The key of a slot; an enrolled one only if it was enrolled for the TA's present pair of keys. */
static TEE_Result key_of(const struct slot *slot, struct key *key)
{
	if (slot->flags & KEYCACHE_ENROLLED && !keys_paired(slot))
		return KEYCACHE_UNTRUSTED;
	key->length = slot->key_length;
	key->flags = slot->flags;
	TEE_MemMove(key->bytes, slot->key, sizeof(key->bytes));
	return TEE_SUCCESS;
}

static struct id previous_of(const struct id *id)
{
	struct id previous = *id;

	previous.previous = true;
	return previous;
}

/*
 * A client's current key becomes its previous one, besides. `count` stays if there is none, or none that is good; and if it is the very
 * key that is to come: who asks once more, after an answer that was lost, does not lose the key before.
 */
static TEE_Result keep(const struct id *id, const struct place *place, const struct key *successor,
		       struct records *records)
{
	const struct id previous = previous_of(id);
	struct slot slot;
	struct key key = { 0 };
	bool stays;
	TEE_Result res = read_slot(id, place, &slot);

	if (res)
		return res;
	res = key_of(&slot, &key);
	stays = key.length == successor->length && !TEE_MemCompare(key.bytes, successor->bytes, key.length);
	if (!res && !stays)
		res = index_next_version(place->bucket, &slot.version);
	if (!res && !stays)
		res = seal_record(&previous, slot.version, &key, &records->records[1]);
	if (!res && !stays) {
		slot.id_length = id_mark(&previous);
		res = put(&previous, &slot);
	}
	if (!res && !stays) {
		records->count = 2;
		(void)cache_remove(&previous);
	}
	wipe(&key, sizeof(key));
	wipe(&slot, sizeof(slot));
	return res == KEYCACHE_UNTRUSTED ? TEE_SUCCESS : res;
}

TEE_Result keys_forget(const struct id *id)
{
	const struct id previous = previous_of(id);
	TEE_Result res = write_removal(&previous);

	if (!res)
		(void)cache_remove(&previous);
	return res;
}

/* Handles a client's previous key before the client gets another one. */
static TEE_Result prepare(const struct id *id, const struct key *successor, const struct setting *setting,
			  struct records *records)
{
	struct waiting *wait = find_waiting(id);
	struct place place;
	TEE_Result res;

	/*
	 * The key that waits is the one to keep. And it does not wait on while an enrolled key is written: should that write fail and
	 * take effect, it would replace that key afterwards, and its serial with it.
	 */
	if (wait && (setting->keep || successor->flags & KEYCACHE_ENROLLED)) {
		res = write(id, &wait->key, wait->version, 0);
		if (res)
			return res;
		drop_waiting(wait);
	}
	if (setting->at_once) {
		res = keys_forget(id);
		return res == KEYCACHE_NO_KEY ? TEE_SUCCESS : res;
	}
	if (!setting->keep)
		return TEE_SUCCESS;
	res = index_find(id, &place);
	if (!res)
		res = keep(id, &place, successor, records);
	return res == KEYCACHE_NO_KEY ? TEE_SUCCESS : res;
}

TEE_Result keys_may_set(const struct id *id, uint8_t flags, uint64_t serial)
{
	uint64_t last = meta.floor;
	struct slot slot;
	struct place place;
	TEE_Result res = index_find(id, &place);

	if (res && res != KEYCACHE_NO_KEY)
		return res;
	if (!res && place.marks & MARK_ENROLLED) {
		if (!(flags & KEYCACHE_ENROLLED))
			return KEYCACHE_IS_ENROLLED;
		res = read_slot(id, &place, &slot);
		if (res)
			return res;
		last = slot.serial;
		wipe(&slot, sizeof(slot));
	}
	return flags & KEYCACHE_ENROLLED && serial <= last ? KEYCACHE_OLD : TEE_SUCCESS;
}

TEE_Result keys_set(const struct id *id, const struct key *key, const struct setting *setting, struct records *records)
{
	bool relaxed = setting->relaxed;
	uint32_t version = 0;
	struct place place;
	TEE_Result res;

	records->count = 1;
	if (keys_naive()) {
		counts.slow_writes++;
		return naive_set(id, key);
	}
	res = prepare(id, key, setting, records);
	if (res)
		return res;
	/* The bucket has to be known, so that its next version is. */
	res = index_find(id, &place);
	/* Whether a new client fits is not known before it is written. */
	if (res == KEYCACHE_NO_KEY || flush_failed)
		relaxed = false;
	if (!res || res == KEYCACHE_NO_KEY)
		res = index_next_version(place.bucket, &version);
	if (!res)
		res = seal_record(id, version, key, &records->records[0]);
	if (!res)
		res = relaxed ? wait(id, key, version) : write(id, key, version, setting->serial);
	if (res)
		return res;
	if (!relaxed)
		drop_waiting(find_waiting(id));
	if (config.policy == KEYCACHE_POLICY_LRU || cache_has(id))
		cache_put(id, key);
	return TEE_SUCCESS;
}

/* Before an enrolled key is removed: no enrolment of a serial up to its own is good any more. */
static TEE_Result raise_floor(const struct id *id, const struct place *place)
{
	struct meta raised = meta;
	struct slot slot;
	TEE_Result res = read_slot(id, place, &slot);

	if (!res && slot.serial > meta.floor) {
		raised.floor = slot.serial;
		res = keys_save_meta(&raised);
	}
	wipe(&raised, sizeof(raised));
	wipe(&slot, sizeof(slot));
	return res;
}

TEE_Result keys_delete(const struct id *id)
{
	struct waiting *wait = find_waiting(id);
	struct place place;
	TEE_Result res;

	if (keys_naive()) {
		counts.slow_writes++;
		return naive_delete(id);
	}
	res = index_find(id, &place);
	if (res == KEYCACHE_NO_KEY && wait) {
		/* Nothing of it is stored. */
		drop_waiting(wait);
		(void)cache_remove(id);
		return TEE_SUCCESS;
	}
	if (!res && place.marks & MARK_ENROLLED)
		res = raise_floor(id, &place);
	if (!res) {
		res = keys_forget(id);
		res = res == KEYCACHE_NO_KEY ? TEE_SUCCESS : res;
	}
	if (!res)
		res = write_removal(id);
	if (res)
		return res;
	drop_waiting(wait);
	(void)cache_remove(id);
	return TEE_SUCCESS;
}

TEE_Result keys_exists(const struct id *id)
{
	const struct waiting *wait;
	struct place place;
	struct key key;
	uint32_t version;
	TEE_Result res;

	if (!keys_naive())
		return find(id, &version, &place, &wait);
	res = naive_get(id, &key);
	counts.slow_reads++;
	wipe(&key, sizeof(key));
	return res;
}

TEE_Result keys_load(const struct id *id, const struct keycache_offer *offer)
{
	struct key key;
	bool kept = false;
	TEE_Result res;

	if (keys_naive() || config.policy == KEYCACHE_POLICY_NONE)
		return TEE_ERROR_BAD_STATE;
	if (cache_has(id))
		return TEE_SUCCESS;
	res = open_offer(id, offer, &key, &kept);
	wipe(&key, sizeof(key));
	return res || kept ? res : KEYCACHE_FULL;
}

TEE_Result keys_evict(const struct id *id)
{
	if (cache_remove(id))
		counts.host_evictions++;
	return TEE_SUCCESS;
}

static TEE_Result read_slow(const struct id *id, const struct place *place, struct key *key)
{
	struct slot slot;
	TEE_Result res = read_slot(id, place, &slot);

	if (!res)
		res = key_of(&slot, key);
	wipe(&slot, sizeof(slot));
	return res;
}

TEE_Result keys_count(const struct id *id, struct key *key)
{
	struct slot old;
	struct slot slot;
	struct place place;
	uint32_t version;
	TEE_Result res;

	/* A key that waits has just been set. */
	if (keys_naive() || find_waiting(id))
		return TEE_SUCCESS;
	res = index_find(id, &place);
	if (!res)
		res = judge(place.bucket, store_get(place.bucket, place.slot, &old));
	if (res) {
		/* It may have been read in part. */
		wipe(&old, sizeof(old));
		return res;
	}
	slot = old;
	slot.counted++;
	version = old.version;
	if (slot.counted >= MOST_COUNTED) {
		slot.flags |= KEYCACHE_WORN;
		key->flags |= KEYCACHE_WORN;
		/* So that no record of before says otherwise. */
		res = index_next_version(place.bucket, &version);
	}
	slot.version = version;
	/* What is in its place must be what the index has. */
	old.version = place.version;
	counts.slow_writes++;
	if (!res)
		res = judge(place.bucket, store_put(place.bucket, place.slot, &slot, &old));
	if (!res)
		index_note(&place, &slot);
	if (!res && key->flags & KEYCACHE_WORN) {
		if (cache_has(id))
			cache_put(id, key);
		res = KEYCACHE_WORN_OUT;
	}
	wipe(&slot, sizeof(slot));
	wipe(&old, sizeof(old));
	return res;
}

TEE_Result keys_record(const struct id *id, struct keycache_record *record)
{
	const struct waiting *wait;
	const struct key *cached;
	struct place place;
	struct key key = { 0 };
	uint32_t version = 0;
	TEE_Result res;

	if (keys_naive())
		return TEE_ERROR_NOT_SUPPORTED;
	res = find(id, &version, &place, &wait);
	if (res)
		return res;
	cached = wait ? &wait->key : cache_get(id);
	if (cached) {
		key = *cached;
	} else {
		res = read_slow(id, &place, &key);
		if (!res && config.policy == KEYCACHE_POLICY_LRU)
			cache_put(id, &key);
	}
	if (!res)
		res = seal_record(id, version, &key, record);
	wipe(&key, sizeof(key));
	return res;
}

TEE_Result keys_walk(uint32_t *position, bool (*visit)(const struct slot *slot, void *context), void *context)
{
	uint32_t bucket = *position / KEYCACHE_BUCKET_SLOTS;
	uint32_t slot = *position % KEYCACHE_BUCKET_SLOTS;
	struct store_reader reader;
	const struct slot *slots;
	uint32_t steps = 0;
	uint32_t total = 0;
	uint32_t count;
	uint32_t at;
	uint32_t skip;
	bool full = false;
	TEE_Result res;

	if (bucket >= KEYCACHE_BUCKETS)
		return TEE_ERROR_BAD_PARAMETERS;
	/* So that everything that is there is in secure storage. What cannot be written has an older key there. */
	(void)keys_flush();

	while (bucket < KEYCACHE_BUCKETS && !full && steps < WALK_STEPS) {
		res = index_is_lost(bucket) ? TEE_ERROR_CORRUPT_OBJECT : store_begin(bucket, &total, &reader);
		steps++;
		if (res && res != TEE_ERROR_CORRUPT_OBJECT)
			return res;
		/* The reader begins at the first slot; then it is where the last chunk ended. */
		for (skip = slot; !res && slot < total && !full && steps < WALK_STEPS; skip = 0, steps++) {
			res = store_next(&reader, skip, &slots, &count);
			if (res)
				break;
			for (at = 0; at < count && !full; at++) {
				full = slots[at].id_length && !visit(&slots[at], context);
				slot += !full;
			}
		}
		if (!res)
			store_end(&reader);
		else if (res != TEE_ERROR_CORRUPT_OBJECT)
			return res;
		/* A bucket that is lost has nothing to tell; KEYCACHE_STATS counts it. */
		if (res || slot >= total) {
			bucket++;
			slot = 0;
		}
	}
	*position = bucket < KEYCACHE_BUCKETS ? bucket * KEYCACHE_BUCKET_SLOTS + slot : 0;
	return TEE_SUCCESS;
}

/* Where ids go, and how much of that is used. */
struct ids {
	uint8_t *bytes;
	size_t used;
	size_t size;
};

static bool list_slot(const struct slot *slot, void *context)
{
	struct ids *ids = context;

	/* Of a client with a previous key there are two slots, and one name. */
	if (slot->id_length > KEYCACHE_ID_BYTES)
		return true;
	if (ids->size - ids->used < slot->id_length + 1u)
		return false;
	TEE_MemMove(ids->bytes + ids->used, slot->id, slot->id_length);
	ids->bytes[ids->used + slot->id_length] = 0;
	ids->used += slot->id_length + 1u;
	return true;
}

TEE_Result keys_list(uint32_t *position, uint8_t *bytes, size_t *size)
{
	struct ids ids = { .bytes = bytes, .size = *size };
	TEE_Result res;

	if (keys_naive())
		return TEE_ERROR_NOT_SUPPORTED;
	res = keys_walk(position, list_slot, &ids);
	*size = ids.used;
	return res;
}

TEE_Result keys_repair(uint32_t *count)
{
	uint32_t bucket;
	TEE_Result res;

	*count = 0;
	if (keys_naive())
		return TEE_ERROR_NOT_SUPPORTED;
	if (!index_lost())
		return TEE_SUCCESS;
	/*
	 * First the seal key: a bucket that begins anew counts versions anew. And what its enrolled keys' serials were is not known
	 * any more.
	 */
	res = renew_seal_key(meta.highest);
	/* Keys of clients that are about to have none. */
	if (!res)
		res = cache_open(cache_bytes_of(&config));
	for (bucket = 0; !res && bucket < KEYCACHE_BUCKETS; bucket++) {
		if (!index_is_lost(bucket))
			continue;
		res = store_renew(bucket);
		if (res)
			break;
		index_renew(bucket);
		++*count;
	}
	return res;
}

void keys_stats(struct keycache_stats *stats)
{
	const struct tally tally = index_tally();

	TEE_MemFill(stats, 0, sizeof(*stats));
	stats->hits = counts.hits;
	stats->misses = counts.misses;
	stats->record_opens = counts.record_opens;
	stats->slow_reads = counts.slow_reads;
	stats->slow_writes = counts.slow_writes;
	stats->index_reads = index_reads();
	stats->stale = counts.stale;
	stats->forged = counts.forged;
	stats->rolled_back = index_rolled_back();
	stats->failed_flushes = counts.failed_flushes;
	stats->evictions = cache_evictions() + counts.host_evictions;
	stats->use_denied = counts.use_denied;
	stats->clients = tally.clients;
	stats->previous = tally.previous;
	stats->enrolled = tally.enrolled;
	stats->wearing = tally.wearing;
	stats->worn = tally.worn;
	stats->cached = cache_count();
	stats->capacity = cache_capacity();
	stats->cache_bytes = cache_bytes();
	stats->index_bytes = index_bytes();
	stats->index_bound = index_bound();
	stats->waiting = waiting_count;
	stats->lost_buckets = index_lost();
}
