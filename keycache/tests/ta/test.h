/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the TA share: a check, a storage folder for each test, and the commands as functions. */
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <string.h>

#include "keycache_ta.h"
#include "shim.h"

#define NONE TEE_PARAM_TYPE_NONE
#define VALUE_IN TEE_PARAM_TYPE_VALUE_INPUT
#define VALUE_OUT TEE_PARAM_TYPE_VALUE_OUTPUT
#define VALUE_INOUT TEE_PARAM_TYPE_VALUE_INOUT
#define MEMORY_IN TEE_PARAM_TYPE_MEMREF_INPUT
#define MEMORY_OUT TEE_PARAM_TYPE_MEMREF_OUTPUT

/* A failed check is printed and counted, and the test goes on. */
#define CHECK(holds) check((holds), #holds, __FILE__, __LINE__)
#define EXPECT(actual, expected) expect((actual), (expected), #actual, __FILE__, __LINE__)
void check(bool holds, const char *what, const char *file, int line);
void expect(uint32_t actual, uint32_t expected, const char *what, const char *file, int line);
unsigned int failures(void);

/* The folder of the running test; it begins empty and goes with the test. */
const char *folder(void);
/* Copies the storage's files aside, and puts them back in the place of what is there. */
void keep_storage(const char *aside);
void restore_storage(const char *aside);
void remove_storage(const char *which);
/* Flips a bit of a file of the storage: its name is the storage's and the object's, as in "ree", "bucket-07". */
void damage(const char *storage, const char *object);
/* Writes a byte of an object's content as if the TA had: it is authentic. */
void forge(const char *storage, const char *object, size_t offset, uint8_t byte);
/* The same of a content that ends sooner. */
void cut_object(const char *storage, const char *object, size_t size);
void remove_object(const char *storage, const char *object);

/* A life of the TA: loads it, and configures it with a cache of so many keys and the default index. */
void start(enum keycache_storage storage, enum keycache_policy policy, unsigned int keys, uint32_t flags);
TEE_Result configure(enum keycache_storage storage, enum keycache_policy policy, uint32_t cache_bytes, uint32_t flags,
		     uint32_t index_bytes);
/* Bytes of the cache that hold so many keys. */
uint32_t bytes_for(unsigned int keys);

struct text {
	uint8_t bytes[KEYCACHE_PAYLOAD_BYTES + KEYCACHE_EXTRA_BYTES];
	size_t size;
};

/* The key of a number, alike for no two of them; and a client's name. */
void make_key(unsigned int number, uint8_t key[32]);
const char *name(unsigned int number);
/* The bucket that a client's key is in. */
unsigned int bucket_of(const char *id);

struct keycache_offer offer_of(const struct keycache_record *record);
TEE_Result set(const char *id, const uint8_t *key, size_t bytes, uint32_t flags, struct keycache_record *record);
/* With make_key's key of that number. */
TEE_Result set_number(const char *id, unsigned int number, struct keycache_record *record);
TEE_Result get(const char *id, const struct keycache_offer *offer, uint8_t key[32], size_t *bytes);
TEE_Result delete (const char *id);
TEE_Result exists(const char *id);
TEE_Result seal(const char *id, const struct keycache_offer *offer, const void *plain, size_t bytes,
		struct text *message);
TEE_Result open_message(const char *id, const struct keycache_offer *offer, const struct text *message,
			struct text *plain);
TEE_Result reencrypt(const char *from, const struct keycache_offer *from_offer, const char *to,
		     const struct keycache_offer *to_offer, const struct text *in, struct text *out, uint32_t *cached,
		     uint32_t *whose);
TEE_Result load(const char *id, const struct keycache_offer *offer);
TEE_Result evict(const char *id);
/* The name of a client's previous key. */
const char *previous(const char *id);
/* SET with restrictions, or KEYCACHE_KEEP; and how many records came back. */
TEE_Result set_as(const char *id, unsigned int number, uint32_t how, uint32_t restrictions,
		  struct keycache_record records[2], size_t *count);
TEE_Result forget(const char *id);
TEE_Result generate(const char *id, uint32_t bytes, uint32_t restrictions, uint32_t how,
		    struct keycache_record records[2], size_t *count);
struct keycache_identity identity(void);
TEE_Result trust(const struct keycache_trust *statement);
TEE_Result enrol(const struct keycache_enrolment *statement, uint32_t how, struct keycache_record records[2],
		 size_t *count, struct keycache_handover *handover, size_t *handover_bytes);
TEE_Result backup(uint32_t *position, void *out, size_t *bytes);
TEE_Result record(const char *id, struct keycache_record *record);
TEE_Result list(uint32_t *position, char *ids, size_t *bytes);
TEE_Result flush(void);
TEE_Result repair(uint32_t *count);
struct keycache_stats stats(void);

/* Uses a key with an offer or without; what is learnt is only whether that works. */
TEE_Result use(const char *id, const struct keycache_offer *offer);
/* Whether a key that is used without an offer is there: in the cache. */
bool cached(const char *id);
/* The result of asking secure storage for a client's key, and whether it is that of a number: 0 if it is none. */
TEE_Result key_number(const char *id, unsigned int most, unsigned int *number);

/* The same of a client's previous key, which opens what it sealed. */
TEE_Result previous_number(const char *id, unsigned int most, unsigned int *number);

/* AES-GCM by OpenSSL itself, for messages that a client makes or reads. */
void client_seal(const uint8_t *key, size_t key_bytes, const void *plain, size_t bytes, struct text *message);
void client_seal_aad(const uint8_t *key, size_t key_bytes, const void *aad, size_t aad_bytes, const void *plain,
		     size_t bytes, struct text *message);
bool client_open(const uint8_t *key, size_t key_bytes, const struct text *message, struct text *plain);
bool client_open_aad(const uint8_t *key, size_t key_bytes, const void *aad, size_t aad_bytes,
		     const struct text *message, struct text *plain);

/* Numbers that are the same in every run. */
uint32_t pick(uint32_t below);

/* The tests, each in the file that is named for it. */
void test_siphash(void);
void test_gcm(void);
void test_wrong_calls(void);
void test_random_calls(void);
void test_get(void);
void test_messages(void);
void test_message_changes(void);
void test_aad(void);
void test_nonces(void);
void test_worn_keys(void);
void test_seal_key_is_replaced(void);
void test_reencrypt(void);
void test_fan_out(void);
void test_records(void);
void test_record_changes(void);
void test_policies(void);
void test_lru_model(void);
void test_wiping(void);
void test_bounds(void);
void test_restart(void);
void test_small_index(void);
void test_full_bucket(void);
void test_last_version(void);
void test_list(void);
void test_configure(void);
void test_configure_fails(void);
void test_owner(void);
void test_owner_comes_later(void);
void test_relaxed(void);
void test_relaxed_versions(void);
void test_model(void);
void test_failed_writes(void);
void test_failed_reads(void);
void test_full_storage(void);
void test_full_storage_relaxed(void);
void test_flush_goes_on(void);
void test_power_cuts(void);
void test_power_cuts_within_rights(void);
void test_rollback(void);
void test_damage(void);
void test_bad_buckets(void);
void test_naive(void);
void test_curve(void);
void test_restrictions(void);
void test_no_way_down(void);
void test_named(void);
void test_previous_keys(void);
void test_generate(void);
void test_trust(void);
void test_enrolment(void);
void test_enrolment_changes(void);
void test_serials(void);
void test_enrolment_over_a_waiting_key(void);
void test_compromised_normal_world(void);
void test_handover(void);
void test_backup(void);
void test_format_1(void);
void test_stats(void);

#endif /* TEST_H */
