/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario.h"

#include <string.h>

#include "../../bench/record.h"

/* attestdiv signs a 32-byte measurement W with 16 bytes of metrics; attestquorum a 32-byte header with an 8-byte bitmap. */
#define ATTESTDIV_BYTES 48
#define ATTESTQUORUM_BYTES 40

struct frame {
	const struct bench_plan *plan;
	struct attest_ops *ops;
	const char *place;
	struct bench_overhead overhead;
};

static void record_spans(const struct frame *f, const char *measure, uint32_t index, struct bench_span outer,
			 struct bench_span inner)
{
	uint64_t nested = 0;

	if (f->ops->inner_place) {
		nested = f->ops->inner_overhead.nested;
		bench_record_sample(f->plan, measure, f->ops->inner_place, index, inner, f->ops->inner_overhead.count,
				    0);
	}
	bench_record_sample(f->plan, measure, f->place, index, outer, f->overhead.count, nested);
}

/* The inputs differ from call to call, and are the same in every run: a counter spread over the bytes. */
static void fill_message(uint8_t *message, size_t length, uint32_t index)
{
	uint32_t state = index * 2654435761u + 1;

	for (size_t i = 0; i < length; i++) {
		state = state * 1664525u + 1013904223u;
		message[i] = (uint8_t)(state >> 24);
	}
}

static void keygen(const struct frame *f)
{
	uint8_t public_key[2 * P256_BYTES];
	uint8_t private_key[P256_BYTES];

	for (uint32_t index = 0; index < bench_calls(f->plan); index++) {
		struct bench_span outer;
		struct bench_span inner = { 0 };
		int result;

		outer.begin = bench_region_begin();
		result = f->ops->keygen(&inner);
		outer.end = bench_region_end();
		if (result)
			bench_fail("keygen %u failed: %#x", (unsigned int)index, (unsigned int)result);
		record_spans(f, "keygen", index, outer, inner);

		result = f->ops->export_key(public_key, private_key);
		if (result)
			bench_fail("export of key %u failed: %#x", (unsigned int)index, (unsigned int)result);
		record_begin("evidence");
		record_text("measure", "keygen");
		record_number("index", index);
		record_hex("public", public_key, sizeof(public_key));
		record_hex("private", private_key, sizeof(private_key));
		record_end();
	}
}

static void attest(const struct frame *f, size_t length)
{
	uint8_t public_key[2 * P256_BYTES];
	uint8_t private_key[P256_BYTES];
	uint8_t message[ATTESTDIV_BYTES];
	uint8_t signature[2 * P256_BYTES];
	struct bench_span ignored;
	int result = f->ops->keygen(&ignored);

	if (!result)
		result = f->ops->export_key(public_key, private_key);
	if (result)
		bench_fail("keygen failed: %#x", (unsigned int)result);

	for (uint32_t index = 0; index < bench_calls(f->plan); index++) {
		struct bench_span outer;
		struct bench_span inner = { 0 };

		fill_message(message, length, index);
		memset(signature, 0, sizeof(signature));

		outer.begin = bench_region_begin();
		result = f->ops->sign(message, length, signature, &inner);
		outer.end = bench_region_end();
		if (result)
			bench_fail("sign %u failed: %#x", (unsigned int)index, (unsigned int)result);
		record_spans(f, "sign", index, outer, inner);

		outer.begin = bench_region_begin();
		result = f->ops->verify(message, length, signature, &inner);
		outer.end = bench_region_end();
		if (result)
			bench_fail("signature %u not accepted by verify: %#x", (unsigned int)index,
				   (unsigned int)result);
		record_spans(f, "verify", index, outer, inner);

		record_begin("evidence");
		record_text("measure", "sign");
		record_number("index", index);
		record_hex("public", public_key, sizeof(public_key));
		record_hex("message", message, length);
		record_hex("signature", signature, sizeof(signature));
		record_end();
	}

	/* A verify that accepts anything would be quick, and worthless. */
	signature[2 * P256_BYTES - 1] ^= 1;
	bench_record_check("modified-signature-rejected", "verify",
			   f->ops->verify(message, length, signature, &ignored) == 1);
	signature[2 * P256_BYTES - 1] ^= 1;
	message[0] ^= 1;
	bench_record_check("modified-message-rejected", "verify",
			   f->ops->verify(message, length, signature, &ignored) == 1);
}

int scenario_attest(const struct bench_plan *plan, struct attest_ops *ops, const char *place)
{
	struct frame f = { .plan = plan, .ops = ops, .place = place };
	size_t length = 0;
	int result;

	if (!strcmp(plan->operation, "attestdiv"))
		length = ATTESTDIV_BYTES;
	else if (!strcmp(plan->operation, "attestquorum"))
		length = ATTESTQUORUM_BYTES;
	else if (strcmp(plan->operation, "keygen"))
		return -1;

	result = ops->open(ops);
	if (result)
		bench_fail("%s: open failed: %#x", ops->name, (unsigned int)result);
	f.overhead = bench_calibrate_place(place);

	if (length)
		attest(&f, length);
	else
		keygen(&f);
	ops->close();
	return 0;
}
