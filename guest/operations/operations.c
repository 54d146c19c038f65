/* SPDX-License-Identifier: BSD-2-Clause */
#include "operations.h"

#include <string.h>

#include "../bench/record.h"
#include "frame.h"

#define AES_COUNTER_BYTES 16
/* What a call's results and inputs are, outside of any stack whose depth is measured. */
static struct {
	uint8_t private_key[OPS_PRIVATE_BYTES];
	uint8_t public_key[OPS_PUBLIC_BYTES];
	uint8_t peer_private[OPS_PRIVATE_BYTES];
	uint8_t peer[OPS_PUBLIC_BYTES];
	uint8_t signature[OPS_SIGNATURE_BYTES];
	uint8_t secret[OPS_SECRET_BYTES];
	uint8_t digest[64];
	uint8_t key[32];
	uint8_t counter[AES_COUNTER_BYTES];
#if FRAME_HAS_MESSAGES
	uint8_t message[FRAME_MESSAGE_BYTES];
#endif /* FRAME_HAS_MESSAGES */
#if FRAME_HAS_AES128 || FRAME_HAS_AES256
	uint8_t output[FRAME_MESSAGE_BYTES];
#endif /* FRAME_HAS_AES128 || FRAME_HAS_AES256 */
	size_t size;
	uint32_t runs;
} io;

/* --- operations: those that the library has. Inline are helpers that some programs have no use for --- */

static inline void begin_evidence(const char *measure, uint32_t index)
{
	record_begin("evidence");
	record_text("measure", measure);
	record_number("index", index);
}

#if FRAME_HAS_MESSAGES
static inline void record_message(void)
{
	record_text("content", "blocks");
	record_number("size", io.size);
}

static inline void prepare_message(uint32_t index)
{
	frame_message(io.message, io.size, index);
}
#endif /* FRAME_HAS_MESSAGES */

static inline void prepare_nothing(uint32_t index)
{
	(void)index;
}

#if FRAME_HAS_KEYGEN
static void make_key(uint8_t *private_key, uint8_t *public_key)
{
	int result = ops_keygen(private_key, public_key);

	if (result)
		frame_fail("keygen failed", result);
}

static int run_keygen(void)
{
	return ops_keygen(io.private_key, io.public_key);
}

static void keygen_evidence(uint32_t index)
{
	begin_evidence("keygen", index);
	record_text("curve", FRAME_CURVE);
	record_hex("public", io.public_key, sizeof(io.public_key));
	record_hex("private", io.private_key, sizeof(io.private_key));
	record_end();
}
#endif /* FRAME_HAS_KEYGEN */

#if FRAME_HAS_SIGN
static int run_sign(void)
{
	return ops_sign(io.private_key, io.public_key, io.message, io.size, io.signature);
}

static int run_verify(void)
{
	return ops_verify(io.public_key, io.message, io.size, io.signature);
}

static void prepare_sign(uint32_t index)
{
	if (!index)
		make_key(io.private_key, io.public_key);
	prepare_message(index);
	memset(io.signature, 0, sizeof(io.signature));
}

static void prepare_verify(uint32_t index)
{
	int result;

	prepare_sign(index);
	result = run_sign();
	if (result)
		frame_fail("sign failed", result);
}

static void signature_evidence(const char *measure, uint32_t index)
{
	begin_evidence(measure, index);
	record_text("curve", FRAME_CURVE);
	record_message();
	record_hex("public", io.public_key, sizeof(io.public_key));
	record_hex("signature", io.signature, sizeof(io.signature));
	record_end();
}

static void sign_evidence(uint32_t index)
{
	int result = run_verify();

	if (result)
		frame_fail("a signature is not accepted by verify", result);
	signature_evidence("sign", index);
}

static void verify_evidence(uint32_t index)
{
	signature_evidence("verify", index);
}
#endif /* FRAME_HAS_SIGN */

#if FRAME_HAS_ECDH
static int run_ecdh(void)
{
	return ops_ecdh(io.private_key, io.peer, io.secret);
}

static void prepare_ecdh(uint32_t index)
{
	(void)index;
	make_key(io.private_key, io.public_key);
	make_key(io.peer_private, io.peer);
	memset(io.secret, 0, sizeof(io.secret));
}

static void ecdh_evidence(uint32_t index)
{
	uint8_t other[OPS_SECRET_BYTES];
	int result = ops_ecdh(io.peer_private, io.public_key, other);

	if (result)
		frame_fail("ecdh of the other side failed", result);
	if (memcmp(other, io.secret, sizeof(other)))
		frame_fail("the two sides of ecdh do not agree", 0);
	if (!index)
		frame_check("agreement", "ecdh", 1);
	begin_evidence("ecdh", index);
	record_text("curve", FRAME_CURVE);
	record_hex("private", io.private_key, sizeof(io.private_key));
	record_hex("peer", io.peer, sizeof(io.peer));
	record_hex("secret", io.secret, sizeof(io.secret));
	record_end();
}
#endif /* FRAME_HAS_ECDH */

#if FRAME_HAS_SHA256 || FRAME_HAS_SHA512
static void hash_evidence(uint32_t index, const char *algorithm, size_t length)
{
	begin_evidence("hash", index);
	record_text("algorithm", algorithm);
	record_message();
	record_hex("digest", io.digest, length);
	record_end();
}
#endif /* FRAME_HAS_SHA256 || FRAME_HAS_SHA512 */

#if FRAME_HAS_SHA256
static int run_sha256(void)
{
	return ops_sha256(io.message, io.size, io.digest);
}

static void sha256_evidence(uint32_t index)
{
	hash_evidence(index, "sha256", 32);
}
#endif /* FRAME_HAS_SHA256 */

#if FRAME_HAS_SHA512
static int run_sha512(void)
{
	return ops_sha512(io.message, io.size, io.digest);
}

static void sha512_evidence(uint32_t index)
{
	hash_evidence(index, "sha512", 64);
}
#endif /* FRAME_HAS_SHA512 */

#if FRAME_HAS_AES128 || FRAME_HAS_AES256
static void prepare_aes(uint32_t index)
{
	prepare_message(index);
	ops_random(io.key, sizeof(io.key));
	ops_random(io.counter, sizeof(io.counter));
}

static void encrypt_evidence(uint32_t index, const char *cipher, size_t key_bytes)
{
	begin_evidence("encrypt", index);
	record_text("cipher", cipher);
	record_message();
	record_hex("key", io.key, key_bytes);
	record_hex("counter", io.counter, sizeof(io.counter));
	/* All of it would be longer than a line. */
	ops_frame_sha256(io.output, io.size, io.digest);
	record_hex("output_sha256", io.digest, 32);
	record_end();
}
#endif /* FRAME_HAS_AES128 || FRAME_HAS_AES256 */

#if FRAME_HAS_AES128
static int run_aes128(void)
{
	return ops_aes_ctr(io.key, 16, io.counter, io.message, io.size, io.output);
}

static void aes128_evidence(uint32_t index)
{
	encrypt_evidence(index, "aes128-ctr", 16);
}
#endif /* FRAME_HAS_AES128 */

#if FRAME_HAS_AES256
static int run_aes256(void)
{
	return ops_aes_ctr(io.key, 32, io.counter, io.message, io.size, io.output);
}

static void aes256_evidence(uint32_t index)
{
	encrypt_evidence(index, "aes256-ctr", 32);
}
#endif /* FRAME_HAS_AES256 */

#if FRAME_HAS_DHRYSTONE
static int run_dhrystone(void)
{
	return ops_dhrystone(io.runs);
}

static void dhrystone_evidence(uint32_t index)
{
	/* That its variables had the right values is a part of its result. */
	if (!index)
		frame_check("final-values", "run", 1);
}
#endif /* FRAME_HAS_DHRYSTONE */

static const struct operation operations[] = {
#if FRAME_HAS_KEYGEN
	{ "keygen", "keygen", run_keygen, prepare_nothing, keygen_evidence },
#endif /* FRAME_HAS_KEYGEN */
#if FRAME_HAS_SIGN
	{ "sign", "sign", run_sign, prepare_sign, sign_evidence },
	{ "verify", "verify", run_verify, prepare_verify, verify_evidence },
#endif /* FRAME_HAS_SIGN */
#if FRAME_HAS_ECDH
	{ "ecdh", "ecdh", run_ecdh, prepare_ecdh, ecdh_evidence },
#endif /* FRAME_HAS_ECDH */
#if FRAME_HAS_SHA256
	{ "sha256", "hash", run_sha256, prepare_message, sha256_evidence },
#endif /* FRAME_HAS_SHA256 */
#if FRAME_HAS_SHA512
	{ "sha512", "hash", run_sha512, prepare_message, sha512_evidence },
#endif /* FRAME_HAS_SHA512 */
#if FRAME_HAS_AES128
	{ "aes128", "encrypt", run_aes128, prepare_aes, aes128_evidence },
#endif /* FRAME_HAS_AES128 */
#if FRAME_HAS_AES256
	{ "aes256", "encrypt", run_aes256, prepare_aes, aes256_evidence },
#endif /* FRAME_HAS_AES256 */
#if FRAME_HAS_DHRYSTONE
	{ "dhrystone", "run", run_dhrystone, prepare_nothing, dhrystone_evidence },
#endif /* FRAME_HAS_DHRYSTONE */
};

void operations_prepare(size_t size, uint32_t runs)
{
	io.size = size;
	io.runs = runs;
}

const struct operation *operations_find(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	frame_fail("this program has no such operation", 0);
}
