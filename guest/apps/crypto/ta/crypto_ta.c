/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures, secrets and digests, whoever works: see engine.h. A session has its own key. What is signed or verified is
 * copied first, because the normal world can change its memory at any time.
 */
#include <string.h>

#include "app_ta.h"
#include "crypto.h"
#include "engine.h"
#include "frame.h"

struct session {
	struct engine *engine;
	bool has_key;
};

TEE_Result TA_CreateEntryPoint(void)
{
	return TEE_SUCCESS;
}

void TA_DestroyEntryPoint(void)
{
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	struct session *s;
	TEE_Result res;

	(void)params;
	if (types != TEE_PARAM_TYPES(NONE, NONE, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	s = TEE_Malloc(sizeof(*s), TEE_MALLOC_FILL_ZERO);
	if (!s)
		return TEE_ERROR_OUT_OF_MEMORY;
	res = engine_new(&s->engine);
	if (res)
		TEE_Free(s);
	else
		*context = s;
	return res;
}

void TA_CloseSessionEntryPoint(void *context)
{
	struct session *s = context;

	engine_free(s->engine);
	TEE_Free(s);
}

/* --- parameters --- */

static TEE_Result check_input(const TEE_Param *param, size_t least, size_t most)
{
	if (!param->memref.buffer || param->memref.size < least || param->memref.size > most)
		return TEE_ERROR_BAD_PARAMETERS;
	return TEE_SUCCESS;
}

/* --- known answers --- */

static struct {
	char text[CRYPTO_CHECK_BYTES];
	size_t used;
} said;

static void say(const char *text)
{
	size_t length = strlen(text);

	if (length > sizeof(said.text) - said.used)
		length = sizeof(said.text) - said.used;
	TEE_MemMove(said.text + said.used, text, length);
	said.used += length;
}

void frame_check(const char *name, const char *measure, int ok)
{
	(void)measure;
	say(ok ? "+" : "-");
	say(name);
	say("\n");
}

static TEE_Result check(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct {
		uint32_t command;
		const char *operation;
	} names[] = {
#if FRAME_HAS_SIGN
		{ CRYPTO_SIGN, "sign" },
		{ CRYPTO_VERIFY, "verify" },
#endif /* FRAME_HAS_SIGN */
#if FRAME_HAS_ECDH
		{ CRYPTO_ECDH, "ecdh" },
#endif /* FRAME_HAS_ECDH */
#if FRAME_HAS_SHA256
		{ CRYPTO_DIGEST, "sha256" },
#endif /* FRAME_HAS_SHA256 */
	};
	const char *operation = NULL;
	TEE_Result res;

	(void)session;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].command == params[0].value.a)
			operation = names[i].operation;
	if (!operation)
		return TEE_ERROR_NOT_SUPPORTED;
	res = ta_check_output(&params[1], CRYPTO_CHECK_BYTES);
	if (res)
		return res;
	said.used = 0;
	known_answers(operation);
	TEE_MemMove(params[1].memref.buffer, said.text, said.used);
	params[1].memref.size = said.used;
	return TEE_SUCCESS;
}

/* --- what is measured --- */

static TEE_Result keygen(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	uint8_t private_key[OPS_PRIVATE_BYTES];
	uint8_t public_key[OPS_PUBLIC_BYTES];
	struct session *s = session;
	TEE_Result res = ta_check_output(&params[0], sizeof(public_key));

	if (!res)
		res = ta_check_output(&params[1], sizeof(private_key));
	if (res)
		return res;
	s->has_key = false;
	res = engine_keygen(s->engine, private_key, public_key);
	if (res)
		return res;
	s->has_key = true;
	TEE_MemMove(params[0].memref.buffer, public_key, sizeof(public_key));
	TEE_MemMove(params[1].memref.buffer, private_key, sizeof(private_key));
	return TEE_SUCCESS;
}

static TEE_Result sign(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	uint8_t message[CRYPTO_MESSAGE_BYTES];
	uint8_t signature[OPS_SIGNATURE_BYTES];
	struct session *s = session;
	size_t length = params[0].memref.size;
	TEE_Result res = check_input(&params[0], 1, sizeof(message));
	uint64_t begin;
	uint64_t end;

	if (!res)
		res = ta_check_output(&params[1], sizeof(signature));
	if (res)
		return res;
	if (!s->has_key)
		return FRAME_HAS_SIGN ? TEE_ERROR_BAD_STATE : TEE_ERROR_NOT_SUPPORTED;
	TEE_MemMove(message, params[0].memref.buffer, length);

	begin = bench_region_begin();
	res = engine_sign(s->engine, message, length, signature);
	end = bench_region_end();
	if (res)
		return res;
	TEE_MemMove(params[1].memref.buffer, signature, sizeof(signature));
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result verify(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	uint8_t message[CRYPTO_MESSAGE_BYTES];
	uint8_t signature[OPS_SIGNATURE_BYTES];
	struct session *s = session;
	size_t length = params[0].memref.size;
	TEE_Result res = check_input(&params[0], 1, sizeof(message));
	uint64_t begin;
	uint64_t end;

	if (!res)
		res = check_input(&params[1], sizeof(signature), sizeof(signature));
	if (res)
		return res;
	if (!s->has_key)
		return FRAME_HAS_SIGN ? TEE_ERROR_BAD_STATE : TEE_ERROR_NOT_SUPPORTED;
	TEE_MemMove(message, params[0].memref.buffer, length);
	TEE_MemMove(signature, params[1].memref.buffer, sizeof(signature));

	begin = bench_region_begin();
	res = engine_verify(s->engine, message, length, signature);
	end = bench_region_end();
	ta_give_span(params, begin, end);
	return res;
}

static TEE_Result ecdh(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	uint8_t peer[OPS_PUBLIC_BYTES];
	uint8_t secret[OPS_SECRET_BYTES];
	struct session *s = session;
	TEE_Result res = check_input(&params[0], sizeof(peer), sizeof(peer));
	uint64_t begin;
	uint64_t end;

	if (!res)
		res = ta_check_output(&params[1], sizeof(secret));
	if (res)
		return res;
	if (!s->has_key)
		return FRAME_HAS_ECDH ? TEE_ERROR_BAD_STATE : TEE_ERROR_NOT_SUPPORTED;
	TEE_MemMove(peer, params[0].memref.buffer, sizeof(peer));

	begin = bench_region_begin();
	res = engine_ecdh(s->engine, peer, secret);
	end = bench_region_end();
	if (res)
		return res;
	TEE_MemMove(params[1].memref.buffer, secret, sizeof(secret));
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result digest(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct session *s = session;
	uint8_t output[32];
	TEE_Result res = check_input(&params[0], 1, CRYPTO_DIGEST_BYTES);
	uint64_t begin;
	uint64_t end;

	if (!res)
		res = ta_check_output(&params[1], sizeof(output));
	if (res)
		return res;

	begin = bench_region_begin();
	res = engine_digest(s->engine, params[0].memref.buffer, params[0].memref.size, output);
	end = bench_region_end();
	if (res)
		return res;
	TEE_MemMove(params[1].memref.buffer, output, sizeof(output));
	ta_give_span(params, begin, end);
	return TEE_SUCCESS;
}

static TEE_Result choose_random(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	(void)session;
	if (params[0].value.a > 1 || params[0].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	return engine_random(params[0].value.a);
}

/* --- memory --- */

/* Less than TA_STACK_SIZE by far more than what is above this file's functions. */
#define STACK_PAINTED (56 * 1024)
#define PAINT 0x5ca1ab1e0ddba11ULL

struct trial {
	struct session *session;
	uint32_t command;
	uint8_t message[CRYPTO_MESSAGE_BYTES];
	size_t length;
	uint8_t signature[OPS_SIGNATURE_BYTES];
	uint8_t private_key[OPS_PRIVATE_BYTES];
	uint8_t public_key[OPS_PUBLIC_BYTES];
	uint8_t output[64];
};

static TEE_Result run_nothing(struct trial *t)
{
	(void)t;
	return TEE_SUCCESS;
}

static bool has_operation(uint32_t command)
{
	return ((command == CRYPTO_SIGN || command == CRYPTO_VERIFY) && FRAME_HAS_SIGN) ||
	       (command == CRYPTO_ECDH && FRAME_HAS_ECDH) || (command == CRYPTO_DIGEST && FRAME_HAS_SHA256);
}

static TEE_Result run_trial(struct trial *t)
{
	struct engine *engine = t->session->engine;

	switch (t->command) {
	case CRYPTO_SIGN:
		return engine_sign(engine, t->message, t->length, t->signature);
	case CRYPTO_VERIFY:
		return engine_verify(engine, t->message, t->length, t->signature);
	case CRYPTO_ECDH:
		return engine_ecdh(engine, t->public_key, t->output);
	case CRYPTO_DIGEST:
		return engine_digest(engine, t->message, t->length, t->output);
	default:
		return TEE_ERROR_NOT_SUPPORTED;
	}
}

/*
 * How many bytes of stack a call takes: what is below this function's frame is painted, and looked at afterwards. What is
 * read and written there is nobody's memory, as far as the compiler knows, hence assembly's view of where it is.
 */
static __attribute__((noinline)) uint32_t stack_of(TEE_Result (*run)(struct trial *t), struct trial *t, TEE_Result *res)
{
	volatile uint64_t *top;
	volatile uint64_t *low;

	__asm__ volatile("mov %0, sp" : "=r"(top)::"memory");
	for (size_t i = 1; i <= STACK_PAINTED / sizeof(*top); i++)
		top[-(ptrdiff_t)i] = PAINT;
	*res = run(t);
	for (low = top - STACK_PAINTED / sizeof(*top); low < top && *low == PAINT; low++)
		;
	return (uint32_t)((uintptr_t)top - (uintptr_t)low);
}

static TEE_Result memory(void *session, TEE_Param params[TEE_NUM_PARAMS])
{
	struct trial *t;
	TEE_Result res;
	TEE_Result ignored;
	uint32_t stack;

	if (params[0].value.b > CRYPTO_MESSAGE_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	if (!has_operation(params[0].value.a))
		return TEE_ERROR_NOT_SUPPORTED;
	t = TEE_Malloc(sizeof(*t), TEE_MALLOC_FILL_ZERO);
	if (!t)
		return TEE_ERROR_OUT_OF_MEMORY;
	t->session = session;
	t->command = params[0].value.a;
	t->length = params[0].value.b;
	res = TEE_SUCCESS;
	if (t->command != CRYPTO_DIGEST) {
		res = engine_keygen(t->session->engine, t->private_key, t->public_key);
		t->session->has_key = !res;
	}
	if (!res && t->command == CRYPTO_VERIFY)
		res = engine_sign(t->session->engine, t->message, t->length, t->signature);
	if (!res) {
		stack = stack_of(run_trial, t, &res);
		params[1].value.a = stack - stack_of(run_nothing, t, &ignored);
		params[1].value.b = 0;
	}
	TEE_Free(t);
	return res;
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct ta_command commands[] = {
		[CRYPTO_CALIBRATE] = { TEE_PARAM_TYPES(VALUE_OUT, VALUE_OUT, NONE, NONE), ta_calibrate },
		[CRYPTO_CHECK] = { TEE_PARAM_TYPES(VALUE_IN, MEMORY_OUT, NONE, NONE), check },
		[CRYPTO_KEYGEN] = { TEE_PARAM_TYPES(MEMORY_OUT, MEMORY_OUT, NONE, NONE), keygen },
		[CRYPTO_SIGN] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), sign },
		[CRYPTO_VERIFY] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, VALUE_OUT, VALUE_OUT), verify },
		[CRYPTO_ECDH] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), ecdh },
		[CRYPTO_DIGEST] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, VALUE_OUT, VALUE_OUT), digest },
		[CRYPTO_MEMORY] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_OUT, NONE, NONE), memory },
		[CRYPTO_RANDOM] = { TEE_PARAM_TYPES(VALUE_IN, NONE, NONE, NONE), choose_random },
	};

	return ta_command(commands, sizeof(commands) / sizeof(commands[0]), context, command, types, params);
}
