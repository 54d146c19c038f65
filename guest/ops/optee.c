/* SPDX-License-Identifier: BSD-2-Clause */
#include "optee.h"

#include <string.h>

#include "attest_ta.h"

/* TEEC_Result values have bit 31 set, so they are negative as int. */
#define SIGNATURE_INVALID                                                                                              \
	((TEEC_Result)0xFFFF3072) /* TEE_ERROR_SIGNATURE_INVALID, GlobalPlatform TEE Internal Core API */

static TEEC_Context context;
static TEEC_Session session;

TEEC_Result optee_open_session(TEEC_Context *ctx, TEEC_Session *s)
{
	static const TEEC_UUID uuid = ATTEST_TA_UUID;

	return TEEC_OpenSession(ctx, s, &uuid, TEEC_LOGIN_PUBLIC, NULL, NULL, NULL);
}

static int open_ops(struct attest_ops *ops)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_OUTPUT, TEEC_VALUE_OUTPUT, TEEC_NONE,
							     TEEC_NONE) };
	TEEC_Result res = TEEC_InitializeContext(NULL, &context);

	if (!res)
		res = optee_open_session(&context, &session);
	if (!res)
		res = TEEC_InvokeCommand(&session, ATTEST_CALIBRATE, &op, NULL);
	ops->inner_overhead.count = op.params[0].value.a;
	ops->inner_overhead.nested = op.params[1].value.a;
	return (int)res;
}

static void close_ops(void)
{
	TEEC_CloseSession(&session);
	TEEC_FinalizeContext(&context);
}

static uint64_t join(const TEEC_Value *value)
{
	return (uint64_t)value->b << 32 | value->a;
}

static void get_span(const TEEC_Operation *op, struct bench_span *inner)
{
	inner->begin = join(&op->params[2].value);
	inner->end = join(&op->params[3].value);
}

static int keygen(struct bench_span *inner)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_NONE, TEEC_VALUE_OUTPUT,
							     TEEC_VALUE_OUTPUT) };
	TEEC_Result res = TEEC_InvokeCommand(&session, ATTEST_KEYGEN, &op, NULL);

	get_span(&op, inner);
	return (int)res;
}

static int export_key(uint8_t public_key[2 * P256_BYTES], uint8_t private_key[P256_BYTES])
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_MEMREF_TEMP_OUTPUT,
							     TEEC_NONE, TEEC_NONE) };

	op.params[0].tmpref.buffer = public_key;
	op.params[0].tmpref.size = 2 * P256_BYTES;
	op.params[1].tmpref.buffer = private_key;
	op.params[1].tmpref.size = P256_BYTES;
	return (int)TEEC_InvokeCommand(&session, ATTEST_EXPORT, &op, NULL);
}

static TEEC_Result call(uint32_t command, uint32_t signature_type, const uint8_t *message, size_t length,
			const uint8_t *signature, struct bench_span *inner)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_INPUT, signature_type, TEEC_VALUE_OUTPUT,
							     TEEC_VALUE_OUTPUT) };
	TEEC_Result res;

	op.params[0].tmpref.buffer = (void *)(uintptr_t)message;
	op.params[0].tmpref.size = length;
	op.params[1].tmpref.buffer = (void *)(uintptr_t)signature;
	op.params[1].tmpref.size = 2 * P256_BYTES;
	res = TEEC_InvokeCommand(&session, command, &op, NULL);
	get_span(&op, inner);
	return res;
}

static int sign(const uint8_t *message, size_t length, uint8_t signature[2 * P256_BYTES], struct bench_span *inner)
{
	return (int)call(ATTEST_SIGN, TEEC_MEMREF_TEMP_OUTPUT, message, length, signature, inner);
}

static int verify(const uint8_t *message, size_t length, const uint8_t signature[2 * P256_BYTES],
		  struct bench_span *inner)
{
	TEEC_Result res = call(ATTEST_VERIFY, TEEC_MEMREF_TEMP_INPUT, message, length, signature, inner);

	return res == SIGNATURE_INVALID ? 1 : (int)res;
}

struct attest_ops optee_ops = {
	.name = "optee",
	.inner_place = "ta",
	.open = open_ops,
	.keygen = keygen,
	.export_key = export_key,
	.sign = sign,
	.verify = verify,
	.close = close_ops,
};
