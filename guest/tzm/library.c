/* SPDX-License-Identifier: BSD-2-Clause */
#include "library.h"

#include <arm_cmse.h>

#include "../ops/portable/ops.h"

static int may(const void *base, size_t length, int access)
{
	return !length || cmse_check_address_range((void *)(uintptr_t)base, length, CMSE_NONSECURE | access) != NULL;
}

static inline int is_long_enough(const struct library_request *request, const size_t in[LIBRARY_INPUTS],
				 const size_t out[LIBRARY_OUTPUTS])
{
	int enough = 1;

	for (size_t i = 0; i < LIBRARY_INPUTS; i++)
		enough &= request->in[i].length >= in[i];
	for (size_t i = 0; i < LIBRARY_OUTPUTS; i++)
		enough &= request->out[i].length >= out[i];
	return enough;
}

/* Each operation's lengths, as ops.h has them; a message's is its caller's. */
#define LENGTHS(in0, in1, in2, in3, out0, out1)                                                                        \
	is_long_enough(request, (const size_t[]){ in0, in1, in2, in3 }, (const size_t[]){ out0, out1 })

static int carry_out(const struct library_request *request)
{
	switch (request->operation) {
	case LIBRARY_NOTHING:
		return 0;
#if defined(LIBRARY_NAME)
	case LIBRARY_OPEN:
		return ops_open();
#endif /* LIBRARY_NAME */
#if FRAME_HAS_KEYGEN
	case LIBRARY_KEYGEN:
		if (LENGTHS(0, 0, 0, 0, OPS_PRIVATE_BYTES, OPS_PUBLIC_BYTES))
			return ops_keygen(request->out[0].base, request->out[1].base);
		break;
#endif /* FRAME_HAS_KEYGEN */
#if FRAME_HAS_SIGN
	case LIBRARY_SIGN:
		if (LENGTHS(OPS_PRIVATE_BYTES, OPS_PUBLIC_BYTES, 0, 0, OPS_SIGNATURE_BYTES, 0))
			return ops_sign(request->in[0].base, request->in[1].base, request->in[2].base,
					request->in[2].length, request->out[0].base);
		break;
	case LIBRARY_VERIFY:
		if (LENGTHS(OPS_PUBLIC_BYTES, 0, OPS_SIGNATURE_BYTES, 0, 0, 0))
			return ops_verify(request->in[0].base, request->in[1].base, request->in[1].length,
					  request->in[2].base);
		break;
#endif /* FRAME_HAS_SIGN */
#if FRAME_HAS_ECDH
	case LIBRARY_ECDH:
		if (LENGTHS(OPS_PRIVATE_BYTES, OPS_PUBLIC_BYTES, 0, 0, OPS_SECRET_BYTES, 0))
			return ops_ecdh(request->in[0].base, request->in[1].base, request->out[0].base);
		break;
#endif /* FRAME_HAS_ECDH */
	case LIBRARY_HASH:
#if FRAME_HAS_SHA256
		if (LENGTHS(0, 0, 0, 0, 32, 0) && request->out[0].length == 32)
			return ops_sha256(request->in[0].base, request->in[0].length, request->out[0].base);
#endif /* FRAME_HAS_SHA256 */
#if FRAME_HAS_SHA512
		if (LENGTHS(0, 0, 0, 0, 64, 0))
			return ops_sha512(request->in[0].base, request->in[0].length, request->out[0].base);
#endif /* FRAME_HAS_SHA512 */
		break;
#if FRAME_HAS_AES128 || FRAME_HAS_AES256
	case LIBRARY_AES:
		if (LENGTHS(16, 16, 0, 0, request->in[2].length, 0))
			return ops_aes_ctr(request->in[0].base, request->in[0].length, request->in[1].base,
					   request->in[2].base, request->in[2].length, request->out[0].base);
		break;
#endif /* FRAME_HAS_AES128 || FRAME_HAS_AES256 */
#if FRAME_HAS_DHRYSTONE
	case LIBRARY_DHRYSTONE:
		if (LENGTHS(sizeof(uint32_t), 0, 0, 0, 0, 0))
			return ops_dhrystone(*(const uint32_t *)request->in[0].base);
		break;
#endif /* FRAME_HAS_DHRYSTONE */
	default:
		break;
	}
	return GATE_REFUSED;
}

int GATE gate_library(const struct library_request *given)
{
	struct library_request request;

	if (!may(given, sizeof(*given), CMSE_MPU_READ))
		return GATE_REFUSED;
	/* From here on the caller cannot change it. */
	request = *given;
	for (size_t i = 0; i < LIBRARY_INPUTS; i++)
		if (!may(request.in[i].base, request.in[i].length, CMSE_MPU_READ))
			return GATE_REFUSED;
	for (size_t i = 0; i < LIBRARY_OUTPUTS; i++)
		if (!may(request.out[i].base, request.out[i].length, CMSE_MPU_READWRITE))
			return GATE_REFUSED;
	return carry_out(&request);
}
