/* SPDX-License-Identifier: BSD-2-Clause */
#include "tee.h"

#include "attestation.h"

static int open_ops(struct attest_ops *ops)
{
	TEEC_Result res = app_open(&app_session);

	if (!res)
		ops->inner_overhead = app_calibrate_ta();
	return (int)res;
}

static void close_ops(void)
{
	TEEC_CloseSession(&app_session);
}

static int keygen(struct bench_span *inner)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_NONE, TEEC_NONE, TEEC_VALUE_OUTPUT,
							     TEEC_VALUE_OUTPUT) };
	TEEC_Result res = TEEC_InvokeCommand(&app_session, ATTEST_KEYGEN, &op, NULL);

	*inner = app_span(&op);
	return (int)res;
}

static int export_key(uint8_t public_key[2 * P256_BYTES], uint8_t private_key[P256_BYTES])
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_MEMREF_TEMP_OUTPUT,
							     TEEC_NONE, TEEC_NONE) };

	op.params[0].tmpref.buffer = public_key;
	op.params[0].tmpref.size = ATTEST_POINT;
	op.params[1].tmpref.buffer = private_key;
	op.params[1].tmpref.size = ATTEST_SCALAR;
	return (int)TEEC_InvokeCommand(&app_session, ATTEST_EXPORT, &op, NULL);
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
	op.params[1].tmpref.size = ATTEST_POINT;
	res = TEEC_InvokeCommand(&app_session, command, &op, NULL);
	*inner = app_span(&op);
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

	/* TEEC_Result values have bit 31 set, so they are negative as int. */
	return res == TEE_ERROR_SIGNATURE_INVALID ? 1 : (int)res;
}

struct attest_ops tee_ops = {
	.name = "optee",
	.inner_place = TA_PLACE,
	.open = open_ops,
	.keygen = keygen,
	.export_key = export_key,
	.sign = sign,
	.verify = verify,
	.close = close_ops,
};
