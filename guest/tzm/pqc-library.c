/* SPDX-License-Identifier: BSD-2-Clause */
/* A post-quantum scheme of pqc.h behind the gate. */
#include "gate.c"

#include "../pqc-adapters/pqc.h"

#if !PQC_IS_KEM
/* Message and context are the last two inputs. */
static int has_text(const struct library_request *request)
{
	return request->in[3].length <= UINT8_MAX;
}

static struct pqc_text text_of(const struct library_request *request)
{
	return (struct pqc_text){ request->in[2].base, request->in[2].length, request->in[3].base,
				  (uint8_t)request->in[3].length };
}
#endif /* !PQC_IS_KEM */

static int carry_out(const struct library_request *request)
{
	switch (request->operation) {
	case LIBRARY_OPEN:
		return ops_open();
	case LIBRARY_KEYGEN:
		if (LENGTHS(PQC_SEED_BYTES, 0, 0, 0, PQC_PRIVATE_BYTES, PQC_PUBLIC_BYTES))
			return pqc_keygen(request->in[0].base, request->out[0].base, request->out[1].base);
		break;
#if PQC_IS_KEM
	case LIBRARY_ENCAPS:
		if (LENGTHS(PQC_PUBLIC_BYTES, PQC_RANDOM_BYTES, 0, 0, PQC_OUTPUT_BYTES, PQC_SECRET_BYTES))
			return pqc_encaps(request->in[0].base, request->in[1].base, request->out[0].base,
					  request->out[1].base);
		break;
	case LIBRARY_DECAPS:
		if (LENGTHS(PQC_PRIVATE_BYTES, PQC_OUTPUT_BYTES, 0, 0, PQC_SECRET_BYTES, 0))
			return pqc_decaps(request->in[0].base, request->in[1].base, request->out[0].base);
		break;
#else
	case LIBRARY_SIGN:
		if (LENGTHS(PQC_PRIVATE_BYTES, PQC_RANDOM_BYTES, 0, 0, PQC_OUTPUT_BYTES, 0) && has_text(request)) {
			const struct pqc_text text = text_of(request);

			return pqc_sign(request->in[0].base, request->in[1].base, &text, request->out[0].base);
		}
		break;
	case LIBRARY_VERIFY:
		if (LENGTHS(PQC_PUBLIC_BYTES, PQC_OUTPUT_BYTES, 0, 0, 0, 0) && has_text(request)) {
			const struct pqc_text text = text_of(request);

			return pqc_verify(request->in[0].base, &text, request->in[1].base);
		}
		break;
#endif /* PQC_IS_KEM */
	default:
		break;
	}
	return GATE_REFUSED;
}
