/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "../../bench/message.h"
#include "../../bench/record.h"
#include "crypto.h"

static const struct crypto_lengths curves[] = {
	{ "secp160r1", 21, 40, 42, 20 }, { "secp192r1", 24, 48, 48, 24 }, { "secp224r1", 28, 56, 56, 28 },
	{ "secp256r1", 32, 64, 64, 32 }, { "secp256k1", 32, 64, 64, 32 }, { "ed25519", 32, 32, 64, 0 },
	{ "x25519", 32, 32, 0, 32 },
};

struct frame {
	const struct bench_plan *plan;
	const struct crypto_world *world;
	const struct crypto_lengths *lengths;
	struct bench_overhead overhead;
	size_t size;
};

static const struct crypto_lengths *lengths_of(const struct bench_plan *plan)
{
	const char *curve = bench_parameter(plan, "curve");

	for (size_t i = 0; curve && i < sizeof(curves) / sizeof(curves[0]); i++)
		if (!strcmp(curves[i].curve, curve))
			return &curves[i];
	bench_fail("unknown curve: %s", curve ? curve : "none");
}

static void record_spans(const struct frame *f, const char *measure, uint32_t index, struct bench_span outer,
			 struct bench_span inner)
{
	const struct crypto_world *world = f->world;
	uint64_t nested = 0;

	if (world->inner_place) {
		nested = world->inner_overhead.nested;
		bench_record_sample(f->plan, measure, world->inner_place, index, inner, world->inner_overhead.count, 0);
	}
	bench_record_sample(f->plan, measure, world->place, index, outer, f->overhead.count, nested);
}

static void must(int result, const char *what, uint32_t index)
{
	if (result)
		bench_fail("%s %u failed: %#x", what, (unsigned int)index, (unsigned int)result);
}

static void begin_evidence(const struct frame *f, const char *measure, uint32_t index)
{
	record_begin("evidence");
	record_text("measure", measure);
	record_number("index", index);
	record_text("curve", f->lengths->curve);
}

/* `verified` is what is measured; a signature is made in any case, outside of what is. */
static void signatures(const struct frame *f, int verified)
{
	const char *measure = verified ? "verify" : "sign";
	const struct crypto_lengths *lengths = f->lengths;
	uint8_t public_key[CRYPTO_NUMBER_BYTES];
	uint8_t private_key[CRYPTO_NUMBER_BYTES];
	uint8_t signature[CRYPTO_NUMBER_BYTES];
	uint8_t *message = message_make(f->size);

	must(f->world->keygen(0, lengths, public_key, private_key), "keygen", 0);
	for (uint32_t index = 0; index < bench_calls(f->plan); index++) {
		struct bench_span outer;
		struct bench_span inner = { 0 };
		int result;

		message_mark(message, f->size, index);
		memset(signature, 0, sizeof(signature));
		if (verified) {
			must(f->world->sign(message, f->size, signature, lengths->signature, &inner), "sign", index);
			outer.begin = bench_region_begin();
			result = f->world->verify(message, f->size, signature, lengths->signature, &inner);
			outer.end = bench_region_end();
		} else {
			outer.begin = bench_region_begin();
			result = f->world->sign(message, f->size, signature, lengths->signature, &inner);
			outer.end = bench_region_end();
		}
		must(result, measure, index);
		record_spans(f, measure, index, outer, inner);
		if (!verified)
			must(f->world->verify(message, f->size, signature, lengths->signature, &inner),
			     "verify of signature", index);

		begin_evidence(f, measure, index);
		record_text("content", "blocks");
		record_number("size", f->size);
		record_hex("public", public_key, lengths->public_key);
		record_hex("signature", signature, lengths->signature);
		record_end();
	}
	free(message);
}

static void ecdh(const struct frame *f)
{
	const struct crypto_lengths *lengths = f->lengths;
	uint8_t public_key[CRYPTO_NUMBER_BYTES];
	uint8_t private_key[CRYPTO_NUMBER_BYTES];
	uint8_t peer[CRYPTO_NUMBER_BYTES];
	uint8_t peer_private[CRYPTO_NUMBER_BYTES];
	uint8_t secret[CRYPTO_NUMBER_BYTES];
	uint8_t other[CRYPTO_NUMBER_BYTES];

	must(f->world->keygen(0, lengths, public_key, private_key), "keygen", 0);
	for (uint32_t index = 0; index < bench_calls(f->plan); index++) {
		struct bench_span outer;
		struct bench_span inner = { 0 };
		struct bench_span ignored;
		int result;

		must(f->world->keygen(1, lengths, peer, peer_private), "keygen of peer", index);
		memset(secret, 0, sizeof(secret));
		outer.begin = bench_region_begin();
		result = f->world->ecdh(0, lengths, peer, secret, &inner);
		outer.end = bench_region_end();
		must(result, "ecdh", index);
		record_spans(f, "ecdh", index, outer, inner);

		must(f->world->ecdh(1, lengths, public_key, other, &ignored), "ecdh of peer", index);
		if (memcmp(secret, other, lengths->secret))
			bench_fail("ecdh %u: the two sides do not agree", (unsigned int)index);
		if (!index)
			bench_record_check("agreement", "ecdh", 1);
		begin_evidence(f, "ecdh", index);
		record_hex("private", private_key, lengths->private_key);
		record_hex("peer", peer, lengths->public_key);
		record_hex("secret", secret, lengths->secret);
		record_end();
	}
}

static void digest(const struct frame *f)
{
	uint8_t *message = message_make(f->size);
	uint8_t output[SHA256_BYTES];

	for (uint32_t index = 0; index < bench_calls(f->plan); index++) {
		struct bench_span outer;
		struct bench_span inner = { 0 };
		int result;

		message_mark(message, f->size, index);
		outer.begin = bench_region_begin();
		result = f->world->digest(message, f->size, output, &inner);
		outer.end = bench_region_end();
		must(result, "digest", index);
		record_spans(f, "hash", index, outer, inner);
		message_record_digest(index, "blocks", f->size, output);
	}
	free(message);
}

static void record_stack(const struct frame *f, const char *measure)
{
	/* A longer message takes no more stack. */
	size_t size = f->size < CRYPTO_MESSAGE_BYTES ? f->size : CRYPTO_MESSAGE_BYTES;

	record_begin("memory");
	record_text("measure", measure);
	record_text("place", f->world->inner_place);
	record_number("stack", f->world->stack(f->plan->operation, size));
	record_end();
}

void scenario_crypto(const struct bench_plan *plan, const struct crypto_world *world)
{
	struct frame f = { .plan = plan, .world = world, .size = bench_parameter_bytes(plan, "size", 0) };
	int is_digest = !strcmp(plan->operation, "digest");

	if (!is_digest)
		f.lengths = lengths_of(plan);
	if (world->inner_place)
		bench_record_overhead(world->inner_place, BENCH_CLOCK_NAME, world->inner_overhead);
	f.overhead = bench_calibrate_place(world->place);
	world->check(plan->operation);
	if (world->stack)
		record_stack(&f, is_digest ? "hash" : plan->operation);
	if (!strcmp(plan->operation, "sign"))
		signatures(&f, 0);
	else if (!strcmp(plan->operation, "verify"))
		signatures(&f, 1);
	else if (!strcmp(plan->operation, "ecdh"))
		ecdh(&f);
	else if (is_digest)
		digest(&f);
	else
		bench_fail("unknown operation: %s", plan->operation);
}
