/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of one operation of a scheme and nothing else, or of none: see ../mcu/footprint.c, which calls it as a hash.
 * Never run.
 */
#include "../pqc-adapters/pqc.h"

#if !defined(FOOTPRINT_NOTHING)
#define FOOTPRINT_SHA256

extern char bss_begin[];

int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	uint8_t *bytes = (uint8_t *)bss_begin; /* of a size that the compiler does not know */
#if !PQC_IS_KEM
	const struct pqc_text text = { message, length, message, 0 };

	(void)text;
#endif /* !PQC_IS_KEM */

	(void)message;
	(void)length;
	(void)digest;
#if defined(FOOTPRINT_KEYGEN)
	return pqc_keygen(bytes, bytes, bytes);
#elif defined(FOOTPRINT_ENCAPS)
	return pqc_encaps(bytes, bytes, bytes, bytes);
#elif defined(FOOTPRINT_DECAPS)
	return pqc_decaps(bytes, bytes, bytes);
#elif defined(FOOTPRINT_SIGN)
	return pqc_sign(bytes, bytes, &text, bytes);
#elif defined(FOOTPRINT_VERIFY)
	return pqc_verify(bytes, &text, bytes);
#else
#error "FOOTPRINT_... must name an operation"
#endif /* FOOTPRINT_... */
}
#undef FOOTPRINT_KEYGEN
#undef FOOTPRINT_SIGN
#undef FOOTPRINT_VERIFY
#endif /* !FOOTPRINT_NOTHING */

#include "../mcu/footprint.c"
