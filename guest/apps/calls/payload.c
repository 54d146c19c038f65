/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same payload through each kind of shared memory. It begins in a buffer of the application's own, and is measured
 * three ways:
 *
 *   call  the memory is ready and has the payload; the TA does not touch it
 *   read  the same, and the TA copies the payload into its own memory; memory from TEEC_AllocateSharedMemory is filled
 *         from the application's buffer first, since that is where the payload is
 *   once  all that one single payload takes: registering or allocating, filling, the call of `read`, releasing
 */
#include <stdlib.h>
#include <string.h>

#include "../../bench/message.h"
#include "calls.h"
#include "calls_client.h"

enum memory { TEMPORARY, REGISTERED, PARTIAL, ALLOCATED };

/* The application's buffer, and for PARTIAL the block in which it is: as much again around it, in whole pages. */
struct payload {
	enum memory memory;
	uint8_t *bytes;
	size_t size;
	uint8_t *block;
	size_t block_size;
	size_t offset;
};

#define PAGE 4096

static enum memory memory_named(const char *name)
{
	static const char *const names[] = { "temporary", "registered", "partial", "allocated" };

	if (!name)
		return TEMPORARY;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return (enum memory)i;
	bench_fail("unknown memory: %s", name);
}

static struct payload payload_make(const struct bench_plan *plan)
{
	struct payload p = { .memory = memory_named(bench_parameter(plan, "memory")),
			     .size = bench_parameter_bytes(plan, "size", 0) };
	size_t half = (p.size / 2 + PAGE - 1) / PAGE * PAGE;
	uint8_t *content;

	if (!p.size)
		bench_fail("a payload of 0 bytes");
	p.offset = p.memory == PARTIAL ? half : 0;
	p.block_size = p.size + 2 * p.offset;
	/* Whole pages, so that nothing else of the heap is shared, and every kind has the same alignment. */
	p.block = aligned_alloc(PAGE, (p.block_size + PAGE - 1) / PAGE * PAGE);
	if (!p.block)
		bench_fail("no memory for a payload of %zu bytes", p.size);
	memset(p.block, 0, p.block_size);
	p.bytes = p.block + p.offset;
	content = message_make(p.size);
	memcpy(p.bytes, content, p.size);
	free(content);
	return p;
}

/* Each call has another payload: its number at the begin (as of every message) and, if there is room, at the end. */
static void payload_mark(const struct payload *p, uint32_t index)
{
	message_mark(p->bytes, p->size, index);
	if (p->size >= 16)
		memcpy(p->bytes + p->size - sizeof(index), &index, sizeof(index));
}

/* Makes the memory that calls refer to. TEMPORARY needs none. */
static inline TEEC_Result set_up(const struct payload *p, TEEC_SharedMemory *shared)
{
	shared->flags = TEEC_MEM_INPUT;
	shared->size = p->block_size;
	switch (p->memory) {
	case REGISTERED:
	case PARTIAL:
		shared->buffer = p->block;
		return TEEC_RegisterSharedMemory(&app_context, shared);
	case ALLOCATED:
		return TEEC_AllocateSharedMemory(&app_context, shared);
	default:
		return TEEC_SUCCESS;
	}
}

static inline void release(const struct payload *p, TEEC_SharedMemory *shared)
{
	if (p->memory != TEMPORARY)
		TEEC_ReleaseSharedMemory(shared);
}

static inline void fill(const struct payload *p, TEEC_SharedMemory *shared)
{
	if (p->memory == ALLOCATED)
		memcpy(shared->buffer, p->bytes, p->size);
}

static inline TEEC_Result invoke(const struct payload *p, TEEC_SharedMemory *shared, uint32_t command, uint32_t results,
				 TEEC_Operation *op)
{
	uint32_t kind = TEEC_MEMREF_TEMP_INPUT;

	memset(op, 0, sizeof(*op));
	if (p->memory == TEMPORARY) {
		op->params[0].tmpref.buffer = p->bytes;
		op->params[0].tmpref.size = p->size;
	} else {
		kind = p->memory == PARTIAL ? TEEC_MEMREF_PARTIAL_INPUT : TEEC_MEMREF_WHOLE;
		op->params[0].memref.parent = shared;
		op->params[0].memref.size = p->size;
		op->params[0].memref.offset = p->offset;
	}
	op->paramTypes = kind | results;
	return TEEC_InvokeCommand(&app_session, command, op, NULL);
}

#define NO_RESULTS TEEC_PARAM_TYPES(0, TEEC_NONE, TEEC_NONE, TEEC_NONE)
#define SPAN TEEC_PARAM_TYPES(0, TEEC_NONE, TEEC_VALUE_OUTPUT, TEEC_VALUE_OUTPUT)
#define HASH TEEC_PARAM_TYPES(0, TEEC_VALUE_OUTPUT, TEEC_NONE, TEEC_NONE)

/* The last piece that the TA copied is the end of this payload. */
static void check_last(const struct payload *p, uint32_t index)
{
	static uint8_t piece[CALLS_BLOCK];
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_NONE, TEEC_NONE,
							     TEEC_NONE) };
	size_t due = (p->size - 1) % CALLS_BLOCK + 1;

	op.params[0].tmpref.buffer = piece;
	op.params[0].tmpref.size = sizeof(piece);
	app_must(TEEC_InvokeCommand(&app_session, CALLS_LAST, &op, NULL), "last piece", index);
	if (op.params[0].tmpref.size != due || memcmp(piece, p->bytes + p->size - due, due))
		bench_fail("read %u: the TA did not get the end of the payload", (unsigned int)index);
}

/* Every byte of it, once. */
static int arrived(const struct payload *p, TEEC_SharedMemory *shared)
{
	uint32_t due = CALLS_HASH_BEGIN;
	TEEC_Operation op;

	for (size_t i = 0; i < p->size; i++)
		due = (due ^ p->bytes[i]) * CALLS_HASH_FACTOR;
	fill(p, shared);
	app_must(invoke(p, shared, CALLS_HASH, HASH, &op), "hash", 0);
	return op.params[1].value.a == due;
}

static void measure(const struct bench_plan *plan, const struct payload *p, TEEC_SharedMemory *shared, uint32_t index,
		    uint64_t overhead, struct bench_overhead inside)
{
	TEEC_SharedMemory alone = { 0 };
	struct bench_span span;
	TEEC_Operation op;
	TEEC_Result res;

	span.begin = bench_region_begin();
	res = invoke(p, shared, CALLS_SHARE, NO_RESULTS, &op);
	span.end = bench_region_end();
	app_must(res, "call", index);
	bench_record_sample(plan, "call", CLIENT_PLACE, index, span, overhead, 0);

	payload_mark(p, 2 * index);
	span.begin = bench_region_begin();
	fill(p, shared);
	res = invoke(p, shared, CALLS_READ, SPAN, &op);
	span.end = bench_region_end();
	app_must(res, "read", index);
	bench_record_sample(plan, "read", TA_PLACE, index, app_span(&op), inside.count, 0);
	bench_record_sample(plan, "read", CLIENT_PLACE, index, span, overhead, inside.nested);
	check_last(p, index);

	payload_mark(p, 2 * index + 1);
	span.begin = bench_region_begin();
	res = set_up(p, &alone);
	if (!res) {
		fill(p, &alone);
		res = invoke(p, &alone, CALLS_READ, SPAN, &op);
		release(p, &alone);
	}
	span.end = bench_region_end();
	app_must(res, "once", index);
	bench_record_sample(plan, "once", TA_PLACE, index, app_span(&op), inside.count, 0);
	bench_record_sample(plan, "once", CLIENT_PLACE, index, span, overhead, inside.nested);
	check_last(p, index);
}

void payload_case(const struct bench_plan *plan)
{
	struct bench_overhead inside = app_calibrate_ta();
	struct bench_overhead overhead = bench_calibrate_place(CLIENT_PLACE);
	struct payload p = payload_make(plan);
	TEEC_SharedMemory shared = { 0 };

	app_must(set_up(&p, &shared), "shared memory", 0);
	for (uint32_t index = 0; index < bench_calls(plan); index++)
		measure(plan, &p, &shared, index, overhead.count, inside);
	bench_record_check("payload-arrived", "read", arrived(&p, &shared));
	release(&p, &shared);
	free(p.block);
}
