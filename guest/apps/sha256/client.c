/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SHA-256 in the TA, and what its calls cost by themselves. A message goes over whole, in one call, or in pieces, one
 * call each; the last call brings the digest back. Each is measured three times:
 *
 *   empty  as many calls of a command without parameters: the way there and back
 *   touch  the same calls with the same parameters, of a command that does nothing: and the memory
 *   hash   the real ones: and the work, which the TA measures from inside as well
 */
#include <stdlib.h>
#include <string.h>

#include "../../bench/message.h"
#include "../common/app.h"
#include "sha256.h"

#define NONE TEEC_NONE

/* One call of each piece of a message; returns at the first failure. */
static TEEC_Result send(uint32_t update, uint32_t final, const uint8_t *message, size_t size, size_t chunk,
			uint8_t digest[SHA256_BYTES])
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, NONE, NONE, NONE) };
	size_t done = 0;

	for (; size - done > chunk; done += chunk) {
		TEEC_Result res;

		op.params[0].tmpref.buffer = (void *)(uintptr_t)(message + done);
		op.params[0].tmpref.size = chunk;
		res = TEEC_InvokeCommand(&app_session, update, &op, NULL);
		if (res)
			return res;
	}
	op.paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_MEMREF_TEMP_OUTPUT, NONE, NONE);
	/* There is nothing to share of an empty message. */
	op.params[0].tmpref.buffer = size ? (void *)(uintptr_t)(message + done) : NULL;
	op.params[0].tmpref.size = size - done;
	op.params[1].tmpref.buffer = digest;
	op.params[1].tmpref.size = SHA256_BYTES;
	return TEEC_InvokeCommand(&app_session, final, &op, NULL);
}

/* As many calls of nothing. */
static TEEC_Result send_nothing(uint64_t calls)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(NONE, NONE, NONE, NONE) };

	for (; calls; calls--) {
		TEEC_Result res = TEEC_InvokeCommand(&app_session, SHA256_EMPTY, &op, NULL);

		if (res)
			return res;
	}
	return TEEC_SUCCESS;
}

static TEEC_Result fetch(uint32_t command, void *out, size_t size)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, NONE, NONE, NONE) };

	op.params[0].tmpref.buffer = out;
	op.params[0].tmpref.size = size;
	return TEEC_InvokeCommand(&app_session, command, &op, NULL);
}

/* The registers of the cycle counter: PMCR, PMCNTENSET, PMCCFILTR, PMUSERENR. */
static void read_counter(uint32_t registers[4])
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_OUTPUT, TEEC_VALUE_OUTPUT, NONE, NONE) };

	app_must(TEEC_InvokeCommand(&app_session, SHA256_COUNTER, &op, NULL), "reading the counter's registers", 0);
	registers[0] = op.params[0].value.a;
	registers[1] = op.params[0].value.b;
	registers[2] = op.params[1].value.a;
	registers[3] = op.params[1].value.b;
}

static int hash_at_once(const uint8_t *message, size_t size, uint8_t digest[SHA256_BYTES])
{
	return (int)send(SHA256_UPDATE, SHA256_FINAL, message, size, size, digest);
}

/* One call of the case: all three measures. */
static void measure(const struct bench_plan *plan, uint32_t index, uint8_t *message, size_t size, size_t chunk,
		    const struct sha256_overheads *inside, struct bench_overhead overhead)
{
	uint64_t calls = size > chunk ? (size + chunk - 1) / chunk : 1;
	uint8_t digest[SHA256_BYTES] = { 0 };
	struct sha256_spans spans;
	struct bench_span span;
	TEEC_Result res;

	span.begin = bench_region_begin();
	res = send_nothing(calls);
	span.end = bench_region_end();
	app_must(res, "empty", index);
	bench_record_sample(plan, "empty", CLIENT_PLACE, index, span, overhead.count, 0);

	span.begin = bench_region_begin();
	res = send(SHA256_TOUCH, SHA256_TOUCH, message, size, chunk, digest);
	span.end = bench_region_end();
	app_must(res, "touch", index);
	bench_record_sample(plan, "touch", CLIENT_PLACE, index, span, overhead.count, 0);

	message_mark(message, size, index);
	span.begin = bench_region_begin();
	res = send(SHA256_UPDATE, SHA256_FINAL, message, size, chunk, digest);
	span.end = bench_region_end();
	app_must(res, "hash", index);
	app_must(fetch(SHA256_SPANS, &spans, sizeof(spans)), "the TA's counts", index);
	if (spans.ta.spans != calls || spans.api.spans != calls)
		bench_fail("the TA counted %llu calls of %llu", (unsigned long long)spans.ta.spans,
			   (unsigned long long)calls);
	bench_record_total(plan, "hash", "api", index, &spans.api, inside->api.count, 0);
	bench_record_total(plan, "hash", "ta", index, &spans.ta, inside->ta.count, inside->api.nested);
	bench_record_sample(plan, "hash", CLIENT_PLACE, index, span, overhead.count, calls * inside->ta.nested);
	message_record_digest(index, "blocks", size, digest);
}

static void run(const struct bench_plan *plan)
{
	size_t size = bench_parameter_bytes(plan, "size", 0);
	size_t chunk = bench_parameter_bytes(plan, "chunk", size);
	struct bench_overhead overhead;
	struct sha256_overheads inside;
	struct sha256_spans spans;
	uint32_t before[4];
	uint32_t during[4];
	uint32_t after[4];
	uint8_t *message;

	if (!chunk && size)
		bench_fail("a chunk of 0 bytes");
	read_counter(before);
	app_must(TEEC_InvokeCommand(&app_session, SHA256_COUNTER_ENABLE, NULL, NULL), "enabling the cycle counter", 0);
	read_counter(during);
	app_must(fetch(SHA256_CALIBRATE, &inside, sizeof(inside)), "calibration", 0);
	if (!inside.api.count)
		bench_fail("the cycle counter stands still in the secure world: MDCR_EL3 or PMCR_EL0 stop it");
	bench_record_overhead("api", BENCH_CYCLES_NAME, inside.api);
	bench_record_overhead("ta", BENCH_CYCLES_NAME, inside.ta);
	overhead = bench_calibrate_place(CLIENT_PLACE);

	message_known_answer(hash_at_once);
	app_must(fetch(SHA256_SPANS, &spans, sizeof(spans)), "the TA's counts", 0);

	message = message_make(size);
	for (uint32_t index = 0; index < bench_calls(plan); index++)
		measure(plan, index, message, size, chunk, &inside, overhead);
	free(message);

	app_must(TEEC_InvokeCommand(&app_session, SHA256_COUNTER_RESTORE, NULL, NULL), "restoring the cycle counter",
		 0);
	read_counter(after);
	/* Were they the same while it was enabled, the comparison would say nothing. */
	bench_record_check("counter-registers-restored", "hash",
			   memcmp(before, during, sizeof(before)) && !memcmp(before, after, sizeof(before)));
}

/* The TA tells what measuring costs by a command of its own: it has two places. */
const struct app app = { .uuid = SHA256_TA_UUID, .run = run };
