/* SPDX-License-Identifier: BSD-2-Clause */
#include "case.h"

#if defined(__aarch64__)
#include <arm_acle.h>
#endif /* __aarch64__ */
#include <stdlib.h>
#include <string.h>

#include "../../bench/message.h"
#include "../../bench/record.h"
#include "known.h"

/* As long as the header of a TLS 1.2 record, which is what most protocols authenticate so. */
#define AAD_BYTES 13

static const char *const call_names[CASE_CALLS] = { "prepare", "set-key", "set-iv", "cipher" };
static const char *const mode_names[] = { "cbc", "ctr", "gcm" };
static const char *const direction_names[] = { "encrypt", "decrypt" };

/* The CRC-32 of zlib and Ethernet, by the core's own instructions: a digest would cost more than what is measured. */
#if defined(__aarch64__)
__attribute__((target("+crc"))) static uint32_t crc32(const uint8_t *bytes, size_t size)
{
	uint32_t crc = ~0u;

	for (; size >= 8; bytes += 8, size -= 8) {
		uint64_t word;

		memcpy(&word, bytes, sizeof(word));
		crc = __crc32d(crc, word);
	}
	for (; size; bytes++, size--)
		crc = __crc32b(crc, *bytes);
	return ~crc;
}
#else
/* Armv7-A has none: by a table of half a byte. */
static uint32_t crc32(const uint8_t *bytes, size_t size)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	uint32_t crc = ~0u;

	for (; size; bytes++, size--) {
		crc ^= *bytes;
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return ~crc;
}
#endif /* __aarch64__ */

static void record_crc(const char *key, uint32_t crc)
{
	uint8_t bytes[4] = { (uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8), (uint8_t)crc };

	record_hex(key, bytes, sizeof(bytes));
}

static int one_of(const struct bench_plan *plan, const char *key, const char *const *names, int count)
{
	const char *value = bench_parameter(plan, key);

	for (int i = 0; value && i < count; i++)
		if (!strcmp(value, names[i]))
			return i;
	bench_fail("%s: %s is not known", key, value ? value : "nothing");
}

static size_t tag_bytes(enum aes_mode mode)
{
	return mode == AES_GCM ? AES_TAG_BYTES : 0;
}

static uint8_t *memory(size_t size)
{
	uint8_t *bytes = malloc(size);

	if (!bytes)
		bench_fail("no memory for %zu bytes", size);
	memset(bytes, 0, size);
	return bytes;
}

/* All four calls with nothing recorded: for checks, and for what a case needs before it begins. */
static uint32_t whole(const struct case_ops *ops, const struct case_job *job)
{
	struct bench_span spans[CASE_MOST_PLACES];
	uint32_t res = 0;

	for (int call = 0; !res && call < CASE_CALLS; call++)
		res = ops->call((enum case_call)call, job, spans);
	ops->release();
	return res;
}

static struct case_job turned(const struct case_job *job)
{
	struct case_job other = *job;

	other.direction = job->direction == AES_ENCRYPT ? AES_DECRYPT : AES_ENCRYPT;
	other.in = job->out;
	other.out = job->in;
	other.in_size = job->out_size;
	other.out_size = job->in_size;
	return other;
}

/* The standards' examples, both ways. */
static void check_known(const struct case_ops *ops, enum aes_mode mode, size_t key_size)
{
	const struct known_answer *known = known_answer(mode, key_size);
	uint8_t plain[KNOWN_MOST_BYTES];
	uint8_t made[KNOWN_MOST_BYTES] = { 0 };
	struct case_job job = {
		.mode = mode,
		.direction = AES_ENCRYPT,
		.key = known->key,
		.iv = known->iv,
		.aad = known->aad,
		.in = plain,
		.out = made,
		.key_size = key_size,
		.iv_size = known->iv_size,
		.aad_size = known->aad_size,
		.in_size = known->size,
		.out_size = known->size + tag_bytes(mode),
	};
	int ok;

	memcpy(plain, known->plain, known->size);
	ok = !whole(ops, &job) && !memcmp(made, known->cipher, job.out_size);
	job = turned(&job);
	memset(plain, 0, sizeof(plain));
	ok = ok && !whole(ops, &job) && !memcmp(plain, known->plain, known->size);
	bench_record_check("known-answer", "cipher", ok);
}

/* The case's own message: there and back, and of GCM with a wrong bit at either end of the tag. `job` encrypts. */
static void check_message(const struct case_ops *ops, const struct case_job *job, size_t size)
{
	struct case_job back = turned(job);
	uint8_t *plain = memory(size);

	back.out = plain;
	if (whole(ops, job))
		bench_fail("the message could not be encrypted");
	bench_record_check("decrypted-again", "cipher", !whole(ops, &back) && !memcmp(plain, job->in, size));
	if (job->mode == AES_GCM) {
		int refused = 1;
		int wiped = 1;

		for (size_t at = 1; at <= AES_TAG_BYTES; at += AES_TAG_BYTES - 1) {
			job->out[job->out_size - at] ^= 1;
			memset(plain, 0x55, size);
			refused &= whole(ops, &back) == CASE_FORGED;
			for (size_t i = 0; i < size; i++)
				wiped &= plain[i] == 0;
			job->out[job->out_size - at] ^= 1;
		}
		bench_record_check("forged-tag-refused", "cipher", refused);
		if (ops->wipes)
			bench_record_check("forged-plaintext-withheld", "cipher", wiped);
	}
	free(plain);
}

/* Not twice the same with one key: its number is in it. */
static void number_iv(uint8_t iv[AES_BLOCK_BYTES], uint32_t index)
{
	for (uint8_t i = 0; i < AES_BLOCK_BYTES; i++)
		iv[i] = i < 4 ? (uint8_t)(index >> (8 * i)) : (uint8_t)(0xa0 + i);
}

static void record_evidence(uint32_t index, uint32_t message, size_t size, const struct case_job *job)
{
	record_begin("evidence");
	record_text("measure", "cipher");
	record_number("index", index);
	record_text("mode", mode_names[job->mode]);
	record_text("direction", direction_names[job->direction]);
	record_number("message", message);
	record_number("size", size);
	record_hex("key", job->key, job->key_size);
	record_hex("iv", job->iv, job->iv_size);
	record_hex("aad", job->aad, job->aad_size);
	record_crc("input_crc32", crc32(job->in, job->in_size));
	record_crc("output_crc32", crc32(job->out, job->out_size));
	record_end();
}

static void sample(const struct bench_plan *plan, const struct case_ops *ops, uint32_t index,
		   const struct case_job *job)
{
	struct bench_span spans[CASE_CALLS][CASE_MOST_PLACES];

	for (int call = 0; call < CASE_CALLS; call++) {
		uint32_t res = ops->call((enum case_call)call, job, spans[call]);

		if (res)
			bench_fail("%s %u failed: %#x", call_names[call], (unsigned int)index, (unsigned int)res);
	}
	ops->release();
	for (int call = 0; call < CASE_CALLS; call++)
		for (int place = 0; place < ops->count; place++)
			bench_record_sample(plan, call_names[call], ops->places[place], index, spans[call][place],
					    ops->overheads[place].count, place ? ops->overheads[place - 1].nested : 0);
}

void case_run(const struct bench_plan *plan, const struct case_ops *ops)
{
	enum aes_mode mode = (enum aes_mode)one_of(plan, "mode", mode_names, 3);
	enum aes_direction direction = (enum aes_direction)one_of(plan, "direction", direction_names, 2);
	size_t key_size = bench_parameter_bytes(plan, "key", 0) / 8;
	size_t size = bench_parameter_bytes(plan, "size", 0);
	size_t sealed = size + tag_bytes(mode);
	uint8_t key[AES_MOST_KEY_BYTES];
	uint8_t iv[AES_BLOCK_BYTES];
	uint8_t aad[AAD_BYTES];
	uint8_t *message = message_make(size);
	struct case_job job = {
		.mode = mode,
		.direction = AES_ENCRYPT,
		.key = key,
		.iv = iv,
		.aad = aad,
		.in = message,
		.out = memory(sealed),
		.key_size = key_size,
		.iv_size = mode == AES_GCM ? AES_NONCE_BYTES : AES_BLOCK_BYTES,
		.aad_size = mode == AES_GCM ? AAD_BYTES : 0,
		.in_size = size,
		.out_size = sealed,
	};

	if (key_size != 16 && key_size != 32)
		bench_fail("a key of %zu bytes", key_size);
	if (!size || (mode == AES_CBC && size % AES_BLOCK_BYTES))
		bench_fail("%s of %zu bytes", mode_names[mode], size);
	for (uint8_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(0x40 + i);
	for (uint8_t i = 0; i < sizeof(aad); i++)
		aad[i] = (uint8_t)(0x10 + i);

	check_known(ops, mode, key_size);
	number_iv(iv, 0);
	message_mark(message, size, 0);
	/* Leaves the encrypted message in the output, which is what a case that decrypts has as its input. */
	check_message(ops, &job, size);
	if (direction == AES_DECRYPT)
		job = turned(&job);
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		uint32_t number = direction == AES_ENCRYPT ? index : 0;

		number_iv(iv, number);
		if (direction == AES_ENCRYPT)
			message_mark(message, size, index);
		memset(job.out, 0x55, job.out_size);
		sample(plan, ops, index, &job);
		record_evidence(index, number, size, &job);
	}
	free(job.in);
	free(job.out);
}
