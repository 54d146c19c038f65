/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of one post-quantum scheme, as the programs of boards and of plain Linux ask for them. */
#include "io.h"

#include <string.h>

#include "../bench/record.h"
#include "../operations/operations.h"

#define DIGEST_BYTES 32

struct pqc_io pqc_io;

#define io pqc_io

static int run_keygen(void)
{
	return pqc_keygen(io.seed, io.private_key, io.public_key);
}

static void must_succeed(const char *what, int result)
{
	if (result)
		frame_fail(what, result);
}

static void prepare_keygen(uint32_t index)
{
	(void)index;
	ops_random(io.seed, sizeof(io.seed));
	memset(io.private_key, 0, sizeof(io.private_key));
	memset(io.public_key, 0, sizeof(io.public_key));
}

/* The digest stands for what is longer than a line. */
static void record_digest(const char *key, const uint8_t *bytes, size_t length)
{
	uint8_t digest[DIGEST_BYTES];

	ops_frame_sha256(bytes, length, digest);
	record_hex(key, digest, sizeof(digest));
}

static void begin_evidence(const char *measure, uint32_t index)
{
	record_begin("evidence");
	record_text("measure", measure);
	record_number("index", index);
	record_text("scheme", PQC_NAME);
	record_hex("seed", io.seed, sizeof(io.seed));
}

static void keygen_evidence_of(const char *measure, uint32_t index)
{
	begin_evidence(measure, index);
	record_digest("public_sha256", io.public_key, sizeof(io.public_key));
	record_digest("private_sha256", io.private_key, sizeof(io.private_key));
	record_end();
}

static void make_key(void)
{
	prepare_keygen(0);
	must_succeed("keygen failed", run_keygen());
}

#if PQC_IS_KEM
static int run_encaps(void)
{
	return pqc_encaps(io.public_key, io.random, io.output, io.secret);
}

static int run_decaps(void)
{
	return pqc_decaps(io.private_key, io.output, io.secret);
}

/* A new key and new random bytes for every call. */
static void prepare_encaps(uint32_t index)
{
	(void)index;
	make_key();
	ops_random(io.random, sizeof(io.random));
	memset(io.output, 0, sizeof(io.output));
	memset(io.secret, 0, sizeof(io.secret));
}

static void prepare_decaps(uint32_t index)
{
	prepare_encaps(index);
	must_succeed("encaps failed", run_encaps());
	memset(io.secret, 0, sizeof(io.secret));
}

static void secret_evidence(const char *measure, uint32_t index)
{
	begin_evidence(measure, index);
	record_hex("random", io.random, sizeof(io.random));
	record_digest("ciphertext_sha256", io.output, sizeof(io.output));
	record_hex("secret", io.secret, sizeof(io.secret));
	record_end();
}

static void keygen_evidence(uint32_t index)
{
	keygen_evidence_of("kem-keygen", index);
}

static void encaps_evidence(uint32_t index)
{
	uint8_t other[PQC_SECRET_BYTES];

	must_succeed("decaps failed", pqc_decaps(io.private_key, io.output, other));
	if (memcmp(other, io.secret, sizeof(other)))
		frame_fail("the two sides do not have the same secret", 0);
	secret_evidence("encaps", index);
}

static void decaps_evidence(uint32_t index)
{
	secret_evidence("decaps", index);
}

static const struct operation operations[] = {
	{ "kem-keygen", "kem-keygen", run_keygen, prepare_keygen, keygen_evidence },
	{ "encaps", "encaps", run_encaps, prepare_encaps, encaps_evidence },
	{ "decaps", "decaps", run_decaps, prepare_decaps, decaps_evidence },
};
#else
static int run_sign(void)
{
	return pqc_sign(io.private_key, io.random, &(struct pqc_text){ io.message, io.size, NULL, 0 }, io.output);
}

static int run_verify(void)
{
	return pqc_verify(io.public_key, &(struct pqc_text){ io.message, io.size, NULL, 0 }, io.output);
}

/* One key for all calls; the message and the random bytes differ. */
static void prepare_sign(uint32_t index)
{
	if (!index)
		make_key();
	frame_message(io.message, io.size, index);
	ops_random(io.random, sizeof(io.random));
	memset(io.output, 0, sizeof(io.output));
}

static void prepare_verify(uint32_t index)
{
	prepare_sign(index);
	must_succeed("sign failed", run_sign());
}

static void signature_evidence(const char *measure, uint32_t index)
{
	begin_evidence(measure, index);
	record_hex("random", io.random, sizeof(io.random));
	record_text("content", "blocks");
	record_number("size", io.size);
	record_digest("signature_sha256", io.output, sizeof(io.output));
	record_end();
}

static void keygen_evidence(uint32_t index)
{
	keygen_evidence_of("dsa-keygen", index);
}

static void sign_evidence(uint32_t index)
{
	int result = run_verify();

	if (result)
		frame_fail("a signature is not accepted by verify", result);
	signature_evidence("dsa-sign", index);
}

static void verify_evidence(uint32_t index)
{
	signature_evidence("dsa-verify", index);
}

static const struct operation operations[] = {
	{ "dsa-keygen", "dsa-keygen", run_keygen, prepare_keygen, keygen_evidence },
	{ "dsa-sign", "dsa-sign", run_sign, prepare_sign, sign_evidence },
	{ "dsa-verify", "dsa-verify", run_verify, prepare_verify, verify_evidence },
};
#endif /* PQC_IS_KEM */

void operations_prepare(size_t size, uint32_t runs)
{
	(void)runs;
	io.size = size;
}

const struct operation *operations_find(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	frame_fail("this program has no such operation", 0);
}
