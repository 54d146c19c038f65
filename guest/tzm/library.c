/* SPDX-License-Identifier: BSD-2-Clause */
/* A library of ops.h behind the gate. */
#include "gate.c"

#include "../adapters/ops.h"

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
