/* SPDX-License-Identifier: BSD-2-Clause */
#include "tee.h"

#include <string.h>

#include "../../bench/record.h"
#include "../../pqc-operations/io.h"

#define NONE TEEC_NONE

struct bench_span tee_span;

/* The TA has the inputs of the call already. */
static bool given;

static void give(uint32_t input, const uint8_t *bytes, size_t size)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_MEMREF_TEMP_INPUT, NONE, NONE) };

	op.params[0].value.a = input;
	op.params[1].tmpref.buffer = (void *)(uintptr_t)bytes;
	op.params[1].tmpref.size = size;
	app_must(TEEC_InvokeCommand(&app_session, PQC_GIVE, &op, NULL), "giving input", input);
}

static void take_private_key(uint8_t private_key[PQC_PRIVATE_BYTES])
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, NONE, NONE, NONE) };

	op.params[0].tmpref.buffer = private_key;
	op.params[0].tmpref.size = PQC_PRIVATE_BYTES;
	app_must(TEEC_InvokeCommand(&app_session, PQC_PRIVATE_KEY, &op, NULL), "taking the private key", 0);
}

void tee_give(void)
{
	give(PQC_SEED, pqc_io.seed, sizeof(pqc_io.seed));
	give(PQC_RANDOM, pqc_io.random, sizeof(pqc_io.random));
	give(PQC_PRIVATE, pqc_io.private_key, sizeof(pqc_io.private_key));
	give(PQC_PUBLIC, pqc_io.public_key, sizeof(pqc_io.public_key));
	give(PQC_CONTEXT, NULL, 0);
	given = true;
}

void tee_take(bool made_key)
{
	given = false;
	if (made_key)
		take_private_key(pqc_io.private_key);
}

static TEEC_Result call(uint32_t command, uint32_t first_type, const uint8_t *first, size_t first_size,
			uint32_t second_type, const uint8_t *second, size_t second_size)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(first_type, second_type, TEEC_VALUE_OUTPUT,
							     TEEC_VALUE_OUTPUT) };
	TEEC_Result res;

	op.params[0].tmpref.buffer = (void *)(uintptr_t)first;
	op.params[0].tmpref.size = first_size;
	op.params[1].tmpref.buffer = (void *)(uintptr_t)second;
	op.params[1].tmpref.size = second_size;
	res = TEEC_InvokeCommand(&app_session, command, &op, NULL);
	tee_span = app_span(&op);
	return res;
}

int pqc_keygen(const uint8_t seed[PQC_SEED_BYTES], uint8_t private_key[PQC_PRIVATE_BYTES],
	       uint8_t public_key[PQC_PUBLIC_BYTES])
{
	TEEC_Result res;

	if (!given)
		give(PQC_SEED, seed, PQC_SEED_BYTES);
	res = call(PQC_KEYGEN, TEEC_MEMREF_TEMP_OUTPUT, public_key, PQC_PUBLIC_BYTES, NONE, NULL, 0);
	if (!given && !res)
		take_private_key(private_key);
	return (int)res;
}

#if PQC_IS_KEM
int pqc_encaps(const uint8_t public_key[PQC_PUBLIC_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	       uint8_t ciphertext[PQC_OUTPUT_BYTES], uint8_t secret[PQC_SECRET_BYTES])
{
	uint8_t both[PQC_OUTPUT_BYTES + PQC_SECRET_BYTES];
	TEEC_Result res;

	if (!given)
		give(PQC_RANDOM, random, PQC_RANDOM_BYTES);
	res = call(PQC_ENCAPS, TEEC_MEMREF_TEMP_INPUT, public_key, PQC_PUBLIC_BYTES, TEEC_MEMREF_TEMP_OUTPUT, both,
		   sizeof(both));
	if (!res) {
		memcpy(ciphertext, both, PQC_OUTPUT_BYTES);
		memcpy(secret, both + PQC_OUTPUT_BYTES, PQC_SECRET_BYTES);
	}
	return (int)res;
}

int pqc_decaps(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t ciphertext[PQC_OUTPUT_BYTES],
	       uint8_t secret[PQC_SECRET_BYTES])
{
	if (!given)
		give(PQC_PRIVATE, private_key, PQC_PRIVATE_BYTES);
	return (int)call(PQC_DECAPS, TEEC_MEMREF_TEMP_INPUT, ciphertext, PQC_OUTPUT_BYTES, TEEC_MEMREF_TEMP_OUTPUT,
			 secret, PQC_SECRET_BYTES);
}
#else
int pqc_sign(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	     const struct pqc_text *text, uint8_t signature[PQC_OUTPUT_BYTES])
{
	if (!given) {
		give(PQC_PRIVATE, private_key, PQC_PRIVATE_BYTES);
		give(PQC_RANDOM, random, PQC_RANDOM_BYTES);
		give(PQC_CONTEXT, text->context, text->context_length);
	}
	return (int)call(PQC_SIGN, TEEC_MEMREF_TEMP_INPUT, text->message, text->length, TEEC_MEMREF_TEMP_OUTPUT,
			 signature, PQC_OUTPUT_BYTES);
}

int pqc_verify(const uint8_t public_key[PQC_PUBLIC_BYTES], const struct pqc_text *text,
	       const uint8_t signature[PQC_OUTPUT_BYTES])
{
	TEEC_Result res;

	if (!given) {
		give(PQC_PUBLIC, public_key, PQC_PUBLIC_BYTES);
		give(PQC_CONTEXT, text->context, text->context_length);
	}
	res = call(PQC_VERIFY, TEEC_MEMREF_TEMP_INPUT, text->message, text->length, TEEC_MEMREF_TEMP_INPUT, signature,
		   PQC_OUTPUT_BYTES);
	return res == TEE_ERROR_SIGNATURE_INVALID ? 1 : (int)res;
}
#endif /* PQC_IS_KEM */

void ops_frame_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, TEEC_MEMREF_TEMP_OUTPUT, NONE,
							     NONE) };

	op.params[0].tmpref.buffer = (void *)(uintptr_t)message;
	op.params[0].tmpref.size = length;
	op.params[1].tmpref.buffer = digest;
	op.params[1].tmpref.size = 32;
	app_must(TEEC_InvokeCommand(&app_session, PQC_DIGEST, &op, NULL), "digest", 0);
}

void tee_record_memory(const char *operation, size_t size)
{
	static const struct {
		const char *operation;
		uint32_t command;
	} commands[] = {
		{ "kem-keygen", PQC_KEYGEN }, { "dsa-keygen", PQC_KEYGEN }, { "encaps", PQC_ENCAPS },
		{ "decaps", PQC_DECAPS },     { "dsa-sign", PQC_SIGN },     { "dsa-verify", PQC_VERIFY },
	};
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INPUT, TEEC_VALUE_OUTPUT, NONE, NONE) };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].operation, operation))
			op.params[0].value.a = commands[i].command;
	op.params[0].value.b = (uint32_t)size;
	app_must(TEEC_InvokeCommand(&app_session, PQC_MEMORY, &op, NULL), "memory", 0);
	record_begin("memory");
	record_text("measure", operation);
	record_text("place", TA_PLACE);
	record_number("stack", op.params[1].value.a);
	record_number("heap", op.params[1].value.b);
	record_end();
}
