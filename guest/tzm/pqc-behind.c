/* SPDX-License-Identifier: BSD-2-Clause */
/* The scheme as the non-secure program sees it: the interface of pqc.h, each call through the gate. */
#include <stddef.h>
#include <stdint.h>

#include "../pqc-adapters/pqc.h"
#include "library.h"

#ifndef LIBRARY_NAME
#error "LIBRARY_NAME must be the name of the library behind the gateway"
#endif /* LIBRARY_NAME */

const char ops_name[] = LIBRARY_NAME;

int ops_open(void)
{
	const struct library_request request = { .operation = LIBRARY_OPEN };

	return gate_library(&request);
}

int pqc_keygen(const uint8_t seed[PQC_SEED_BYTES], uint8_t private_key[PQC_PRIVATE_BYTES],
	       uint8_t public_key[PQC_PUBLIC_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_KEYGEN,
		.in = { { seed, PQC_SEED_BYTES } },
		.out = { { private_key, PQC_PRIVATE_BYTES }, { public_key, PQC_PUBLIC_BYTES } },
	};

	return gate_library(&request);
}

#if PQC_IS_KEM
int pqc_encaps(const uint8_t public_key[PQC_PUBLIC_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	       uint8_t ciphertext[PQC_OUTPUT_BYTES], uint8_t secret[PQC_SECRET_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_ENCAPS,
		.in = { { public_key, PQC_PUBLIC_BYTES }, { random, PQC_RANDOM_BYTES } },
		.out = { { ciphertext, PQC_OUTPUT_BYTES }, { secret, PQC_SECRET_BYTES } },
	};

	return gate_library(&request);
}

int pqc_decaps(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t ciphertext[PQC_OUTPUT_BYTES],
	       uint8_t secret[PQC_SECRET_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_DECAPS,
		.in = { { private_key, PQC_PRIVATE_BYTES }, { ciphertext, PQC_OUTPUT_BYTES } },
		.out = { { secret, PQC_SECRET_BYTES } },
	};

	return gate_library(&request);
}
#else
int pqc_sign(const uint8_t private_key[PQC_PRIVATE_BYTES], const uint8_t random[PQC_RANDOM_BYTES],
	     const struct pqc_text *text, uint8_t signature[PQC_OUTPUT_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_SIGN,
		.in = { { private_key, PQC_PRIVATE_BYTES },
			{ random, PQC_RANDOM_BYTES },
			{ text->message, text->length },
			{ text->context, text->context_length } },
		.out = { { signature, PQC_OUTPUT_BYTES } },
	};

	return gate_library(&request);
}

int pqc_verify(const uint8_t public_key[PQC_PUBLIC_BYTES], const struct pqc_text *text,
	       const uint8_t signature[PQC_OUTPUT_BYTES])
{
	const struct library_request request = {
		.operation = LIBRARY_VERIFY,
		.in = { { public_key, PQC_PUBLIC_BYTES },
			{ signature, PQC_OUTPUT_BYTES },
			{ text->message, text->length },
			{ text->context, text->context_length } },
	};

	return gate_library(&request);
}
#endif /* PQC_IS_KEM */
