/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One post-quantum scheme by a library that is linked into the TA: see guest/pqc-adapters/pqc.h. OP-TEE's cryptography takes no
 * part. What comes from the normal world is copied first, because that can change its memory at any time.
 */
#include "pqc.h"

#include "app_ta.h"
#include "memory.h"

/* What goes in and out of a call. There is one call at a time, whatever number of sessions. */
static struct {
	uint8_t public_key[PQC_PUBLIC_BYTES];
	uint8_t output[PQC_OUTPUT_BYTES];
	uint8_t secret[PQC_SECRET_BYTES];
	uint8_t message[PQC_MESSAGE_BYTES];
	size_t length;
} io;

struct session {
	uint8_t seed[PQC_SEED_BYTES];
	uint8_t random[PQC_RANDOM_BYTES];
	uint8_t private_key[PQC_PRIVATE_BYTES];
	uint8_t public_key[PQC_PUBLIC_BYTES];
	uint8_t context[PQC_CONTEXT_BYTES];
	uint8_t context_length;
	bool has_private;
	bool has_public;
};

TEE_Result TA_CreateEntryPoint(void)
{
	return ops_open() ? TEE_ERROR_GENERIC : TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	(void)params;
	if (types != TEE_PARAM_TYPES(NONE, NONE, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	*context = TEE_Malloc(sizeof(struct session), TEE_MALLOC_FILL_ZERO);
	return *context ? TEE_SUCCESS : TEE_ERROR_OUT_OF_MEMORY;
}

void TA_CloseSessionEntryPoint(void *context)
{
	TEE_MemFill(context, 0, sizeof(struct session));
	TEE_Free(context);
}

/* --- parameters --- */

static TEE_Result check_input(const TEE_Param *param, size_t least, size_t most)
{
	if (param->memref.size < least || param->memref.size > most || (least && !param->memref.buffer))
		return TEE_ERROR_BAD_PARAMETERS;
	return TEE_SUCCESS;
}

static TEE_Result give(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	const struct {
		uint8_t *bytes;
		size_t least;
		size_t most;
	} inputs[] = {
		[PQC_SEED] = { s->seed, sizeof(s->seed), sizeof(s->seed) },
		[PQC_RANDOM] = { s->random, sizeof(s->random), sizeof(s->random) },
		[PQC_PRIVATE] = { s->private_key, sizeof(s->private_key), sizeof(s->private_key) },
		[PQC_PUBLIC] = { s->public_key, sizeof(s->public_key), sizeof(s->public_key) },
		[PQC_CONTEXT] = { s->context, 0, sizeof(s->context) },
	};
	uint32_t which = params[0].value.a;
	TEE_Result res;

	if (which >= sizeof(inputs) / sizeof(inputs[0]) || params[0].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	res = check_input(&params[1], inputs[which].least, inputs[which].most);
	if (res)
		return res;
	TEE_MemMove(inputs[which].bytes, params[1].memref.buffer, params[1].memref.size);
	s->has_private |= which == PQC_PRIVATE;
	s->has_public |= which == PQC_PUBLIC;
	if (which == PQC_CONTEXT)
		s->context_length = (uint8_t)params[1].memref.size;
	return TEE_SUCCESS;
}

/* --- what is measured --- */

static TEE_Result keygen(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	TEE_Result res = ta_check_output(&params[0], PQC_PUBLIC_BYTES);
	uint64_t begin;
	uint64_t end;
	int result;

	if (res)
		return res;
	s->has_private = s->has_public = false;

	begin = bench_region_begin();
	result = pqc_keygen(s->seed, s->private_key, s->public_key);
	end = bench_region_end();
	if (result)
		return TEE_ERROR_GENERIC;
	s->has_private = s->has_public = true;
	TEE_MemMove(params[0].memref.buffer, s->public_key, PQC_PUBLIC_BYTES);
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result private_key(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	TEE_Result res = ta_check_output(&params[0], PQC_PRIVATE_BYTES);

	if (res)
		return res;
	if (!s->has_private)
		return TEE_ERROR_BAD_STATE;
	TEE_MemMove(params[0].memref.buffer, s->private_key, PQC_PRIVATE_BYTES);
	return TEE_SUCCESS;
}

#if PQC_IS_KEM
static TEE_Result encaps(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	TEE_Result res = check_input(&params[0], PQC_PUBLIC_BYTES, PQC_PUBLIC_BYTES);
	uint64_t begin;
	uint64_t end;
	int result;

	if (!res)
		res = ta_check_output(&params[1], PQC_OUTPUT_BYTES + PQC_SECRET_BYTES);
	if (res)
		return res;
	TEE_MemMove(io.public_key, params[0].memref.buffer, PQC_PUBLIC_BYTES);

	begin = bench_region_begin();
	result = pqc_encaps(io.public_key, s->random, io.output, io.secret);
	end = bench_region_end();
	/* With a key that FIPS 203, 7.2, does not take. */
	if (result)
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(params[1].memref.buffer, io.output, PQC_OUTPUT_BYTES);
	TEE_MemMove((uint8_t *)params[1].memref.buffer + PQC_OUTPUT_BYTES, io.secret, PQC_SECRET_BYTES);
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result decaps(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	TEE_Result res = check_input(&params[0], PQC_OUTPUT_BYTES, PQC_OUTPUT_BYTES);
	uint64_t begin;
	uint64_t end;
	int result;

	if (!res)
		res = ta_check_output(&params[1], PQC_SECRET_BYTES);
	if (res)
		return res;
	if (!s->has_private)
		return TEE_ERROR_BAD_STATE;
	TEE_MemMove(io.output, params[0].memref.buffer, PQC_OUTPUT_BYTES);

	begin = bench_region_begin();
	result = pqc_decaps(s->private_key, io.output, io.secret);
	end = bench_region_end();
	if (result)
		return TEE_ERROR_GENERIC;
	TEE_MemMove(params[1].memref.buffer, io.secret, PQC_SECRET_BYTES);
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}
#else
static struct pqc_text text_of(const struct session *s)
{
	return (struct pqc_text){ io.message, io.length, s->context, s->context_length };
}

static TEE_Result sign(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	struct pqc_text text;
	TEE_Result res = check_input(&params[0], 0, PQC_MESSAGE_BYTES);
	uint64_t begin;
	uint64_t end;
	int result;

	if (!res)
		res = ta_check_output(&params[1], PQC_OUTPUT_BYTES);
	if (res)
		return res;
	if (!s->has_private)
		return TEE_ERROR_BAD_STATE;
	io.length = params[0].memref.size;
	TEE_MemMove(io.message, params[0].memref.buffer, io.length);
	text = text_of(s);

	begin = bench_region_begin();
	result = pqc_sign(s->private_key, s->random, &text, io.output);
	end = bench_region_end();
	if (result)
		return TEE_ERROR_GENERIC;
	TEE_MemMove(params[1].memref.buffer, io.output, PQC_OUTPUT_BYTES);
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result verify(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	struct pqc_text text;
	TEE_Result res = check_input(&params[0], 0, PQC_MESSAGE_BYTES);
	uint64_t begin;
	uint64_t end;
	int result;

	if (!res)
		res = check_input(&params[1], PQC_OUTPUT_BYTES, PQC_OUTPUT_BYTES);
	if (res)
		return res;
	if (!s->has_public)
		return TEE_ERROR_BAD_STATE;
	io.length = params[0].memref.size;
	TEE_MemMove(io.message, params[0].memref.buffer, io.length);
	TEE_MemMove(io.output, params[1].memref.buffer, PQC_OUTPUT_BYTES);
	text = text_of(s);

	begin = bench_region_begin();
	result = pqc_verify(s->public_key, &text, io.output);
	end = bench_region_end();
	ta_give_span(params, begin, end);
	if (result)
		return result == 1 ? TEE_ERROR_SIGNATURE_INVALID : TEE_ERROR_GENERIC;
	return TEE_SUCCESS;
}
#endif /* PQC_IS_KEM */

/* For the host's evidence of what is longer than a line. By the core, so that the TA has no other library. */
static TEE_Result digest(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	TEE_OperationHandle operation = TEE_HANDLE_NULL;
	size_t size = 32;
	TEE_Result res = check_input(&params[0], 1, UINT32_MAX);

	(void)session;
	if (!res)
		res = ta_check_output(&params[1], size);
	if (!res)
		res = TEE_AllocateOperation(&operation, TEE_ALG_SHA256, TEE_MODE_DIGEST, 0);
	if (!res)
		res = TEE_DigestDoFinal(operation, params[0].memref.buffer, params[0].memref.size,
					params[1].memref.buffer, &size);
	TEE_FreeOperation(operation);
	return res;
}

/* --- memory --- */

/* Whose key pair the trials have. */
static struct session *trial;

static int try_keygen(void)
{
	return pqc_keygen(trial->seed, trial->private_key, trial->public_key);
}

#if PQC_IS_KEM
static int try_encaps(void)
{
	return pqc_encaps(trial->public_key, trial->random, io.output, io.secret);
}

static int try_decaps(void)
{
	return pqc_decaps(trial->private_key, io.output, io.secret);
}
#else
static int try_sign(void)
{
	const struct pqc_text text = text_of(trial);

	return pqc_sign(trial->private_key, trial->random, &text, io.output);
}

static int try_verify(void)
{
	const struct pqc_text text = text_of(trial);

	return pqc_verify(trial->public_key, &text, io.output);
}
#endif /* PQC_IS_KEM */

static TEE_Result memory(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	/* What each needs is made first. */
	static const struct {
		uint32_t command;
		int (*before)(void);
		int (*run)(void);
	} trials[] = {
		{ PQC_KEYGEN, NULL, try_keygen },
#if PQC_IS_KEM
		{ PQC_ENCAPS, NULL, try_encaps },
		{ PQC_DECAPS, try_encaps, try_decaps },
#else
		{ PQC_SIGN, NULL, try_sign },
		{ PQC_VERIFY, try_sign, try_verify },
#endif /* PQC_IS_KEM */
	};
	TEE_Result res = TEE_ERROR_NOT_SUPPORTED;
	uint32_t stack;
	uint32_t heap;

	if (params[0].value.b > PQC_MESSAGE_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		if (trials[i].command != params[0].value.a)
			continue;
		trial = session;
		trial->has_private = trial->has_public = false;
		io.length = params[0].value.b;
		if (try_keygen() || (trials[i].before && trials[i].before()))
			return TEE_ERROR_GENERIC;
		res = memory_stack(trials[i].run, &stack);
		if (!res)
			res = memory_heap(trials[i].run, &heap);
		if (res)
			return res;
		trial->has_private = trial->has_public = true;
		params[1].value.a = stack;
		params[1].value.b = heap;
	}
	return res;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[PQC_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
		[PQC_GIVE] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_IN, NONE, NONE), give },
		[PQC_KEYGEN] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, VALUE_OUT, VALUE_OUT), keygen },
		[PQC_PRIVATE_KEY] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), private_key },
#if PQC_IS_KEM
		[PQC_ENCAPS] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), encaps },
		[PQC_DECAPS] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), decaps },
#else
		[PQC_SIGN] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), sign },
		[PQC_VERIFY] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, VALUE_OUT, VALUE_OUT), verify },
#endif /* PQC_IS_KEM */
		[PQC_DIGEST] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, NONE, NONE), digest },
		[PQC_MEMORY] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_OUT, NONE, NONE), memory },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
