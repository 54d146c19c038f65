/* SPDX-License-Identifier: BSD-2-Clause */
/* Signatures, secrets and digests by the crypto TA, whatever implementation works in it or in OP-TEE's core. */
#include <string.h>

#include "../common/app.h"
#include "crypto.h"
#include "scenario.h"

/* A second session is the peer of a key agreement: it has a key of its own. */
static TEEC_Session peer_session;
static int has_peer;

/* How message and signature go over: memory that is allocated once, or NULL for temporary references. */
static TEEC_SharedMemory shared_message;
static TEEC_SharedMemory shared_signature;
static int allocated;

static uint32_t command_of(const char *operation)
{
	return !strcmp(operation, "sign")     ? CRYPTO_SIGN
	       : !strcmp(operation, "verify") ? CRYPTO_VERIFY
	       : !strcmp(operation, "ecdh")   ? CRYPTO_ECDH
					      : CRYPTO_DIGEST;
}

static void check(const char *operation)
{
	char text[CRYPTO_CHECK_BYTES + 1] = { 0 };
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_MEMREF_TEMP_OUTPUT, TEEC_NONE,
							     TEEC_NONE) };
	const char *measure = strcmp(operation, "digest") ? operation : "hash";

	op.params[0].value.a = command_of(operation);
	op.params[1].tmpref.buffer = text;
	op.params[1].tmpref.size = CRYPTO_CHECK_BYTES;
	app_must(TEEC_InvokeCommand(&app_session, CRYPTO_CHECK, &op, NULL), "check", 0);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		bench_record_check(line + 1, measure, line[0] == '+');
}

static TEEC_Session *side_session(int side)
{
	if (!side)
		return &app_session;
	if (!has_peer)
		app_must(app_open(&peer_session), "session of the peer", 0);
	has_peer = 1;
	return &peer_session;
}

static int keygen(int side, const struct crypto_lengths *lengths, uint8_t *public_key, uint8_t *private_key)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_MEMREF_TEMP_OUTPUT,
							     TEEC_NONE, TEEC_NONE) };

	op.params[0].tmpref.buffer = public_key;
	op.params[0].tmpref.size = lengths->public_key;
	op.params[1].tmpref.buffer = private_key;
	op.params[1].tmpref.size = lengths->private_key;
	return (int)TEEC_InvokeCommand(side_session(side), CRYPTO_KEYGEN, &op, NULL);
}

/* A call with an input and an output (or a second input) in temporary memory. */
static TEEC_Result call(TEEC_Session *session, uint32_t command, uint32_t second_type, const uint8_t *input,
			size_t length, const uint8_t *second, size_t second_length, struct bench_span *inner)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, second_type, TEEC_VALUE_OUTPUT,
							     TEEC_VALUE_OUTPUT) };
	TEEC_Result res;

	op.params[0].tmpref.buffer = (void *)(uintptr_t)input;
	op.params[0].tmpref.size = length;
	op.params[1].tmpref.buffer = (void *)(uintptr_t)second;
	op.params[1].tmpref.size = second_length;
	res = TEEC_InvokeCommand(session, command, &op, NULL);
	*inner = app_span(&op);
	return res;
}

/* The same in the memory that was allocated once. */
static TEEC_Result call_allocated(uint32_t command, uint32_t second_type, const uint8_t *message, size_t length,
				  size_t signature_length, struct bench_span *inner)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_PARTIAL_INPUT, second_type, TEEC_VALUE_OUTPUT,
							     TEEC_VALUE_OUTPUT) };
	TEEC_Result res;

	memcpy(shared_message.buffer, message, length);
	op.params[0].memref.parent = &shared_message;
	op.params[0].memref.size = length;
	op.params[1].memref.parent = &shared_signature;
	op.params[1].memref.size = signature_length;
	res = TEEC_InvokeCommand(&app_session, command, &op, NULL);
	*inner = app_span(&op);
	return res;
}

static int sign(const uint8_t *message, size_t length, uint8_t *signature, size_t signature_length,
		struct bench_span *inner)
{
	TEEC_Result res;

	if (!allocated)
		return (int)call(&app_session, CRYPTO_SIGN, TEEC_MEMREF_TEMP_OUTPUT, message, length, signature,
				 signature_length, inner);
	res = call_allocated(CRYPTO_SIGN, TEEC_MEMREF_PARTIAL_OUTPUT, message, length, signature_length, inner);
	memcpy(signature, shared_signature.buffer, signature_length);
	return (int)res;
}

static int verify(const uint8_t *message, size_t length, const uint8_t *signature, size_t signature_length,
		  struct bench_span *inner)
{
	TEEC_Result res;

	if (allocated) {
		memcpy(shared_signature.buffer, signature, signature_length);
		res = call_allocated(CRYPTO_VERIFY, TEEC_MEMREF_PARTIAL_INPUT, message, length, signature_length,
				     inner);
	} else {
		res = call(&app_session, CRYPTO_VERIFY, TEEC_MEMREF_TEMP_INPUT, message, length, signature,
			   signature_length, inner);
	}
	return res == TEE_ERROR_SIGNATURE_INVALID ? 1 : (int)res;
}

static int ecdh(int side, const struct crypto_lengths *lengths, const uint8_t *peer, uint8_t *secret,
		struct bench_span *inner)
{
	return (int)call(side_session(side), CRYPTO_ECDH, TEEC_MEMREF_TEMP_OUTPUT, peer, lengths->public_key, secret,
			 lengths->secret, inner);
}

static int digest(const uint8_t *message, size_t length, uint8_t output[32], struct bench_span *inner)
{
	return (int)call(&app_session, CRYPTO_DIGEST, TEEC_MEMREF_TEMP_OUTPUT, message, length, output, 32, inner);
}

static uint32_t stack(const char *operation, size_t length)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT, TEEC_NONE,
							     TEEC_NONE) };

	op.params[0].value.a = command_of(operation);
	op.params[0].value.b = (uint32_t)length;
	app_must(TEEC_InvokeCommand(&app_session, CRYPTO_MEMORY, &op, NULL), "memory", 0);
	return op.params[1].value.a;
}

static void allocate(TEEC_SharedMemory *memory, size_t size, uint32_t flags)
{
	memory->size = size;
	memory->flags = flags;
	app_must(TEEC_AllocateSharedMemory(&app_context, memory), "allocation of shared memory", 0);
}

static void choose(const struct bench_plan *plan)
{
	const char *memory = bench_parameter(plan, "memory");
	const char *random = bench_parameter(plan, "random");

	if (memory && strcmp(memory, "allocated"))
		bench_fail("unknown memory: %s", memory);
	if (memory) {
		allocated = 1;
		allocate(&shared_message, CRYPTO_MESSAGE_BYTES, TEEC_MEM_INPUT);
		allocate(&shared_signature, CRYPTO_NUMBER_BYTES, TEEC_MEM_INPUT | TEEC_MEM_OUTPUT);
	}
	if (random) {
		TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_NONE, TEEC_NONE,
								     TEEC_NONE) };

		if (strcmp(random, "tee"))
			bench_fail("unknown source of random bytes: %s", random);
		op.params[0].value.a = 1;
		app_must(TEEC_InvokeCommand(&app_session, CRYPTO_RANDOM, &op, NULL), "choice of random bytes", 0);
	}
}

static void run(const struct bench_plan *plan)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_OUTPUT, TEEC_VALUE_OUTPUT, TEEC_NONE,
							     TEEC_NONE) };
	struct crypto_world world = {
		.place = CLIENT_PLACE,
		.inner_place = TA_PLACE,
		.check = check,
		.keygen = keygen,
		.sign = sign,
		.verify = verify,
		.ecdh = ecdh,
		.digest = digest,
		.stack = stack,
	};

	app_must(TEEC_InvokeCommand(&app_session, CRYPTO_CALIBRATE, &op, NULL), "calibration", 0);
	world.inner_overhead.count = op.params[0].value.a;
	world.inner_overhead.nested = op.params[1].value.a;
	choose(plan);
	scenario_crypto(plan, &world);
	if (allocated) {
		TEEC_ReleaseSharedMemory(&shared_message);
		TEEC_ReleaseSharedMemory(&shared_signature);
	}
	if (has_peer)
		TEEC_CloseSession(&peer_session);
}

const struct app app = { .uuid = CRYPTO_TA_UUID, .calibrate = CRYPTO_CALIBRATE, .run = run };
