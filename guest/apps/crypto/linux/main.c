/* SPDX-License-Identifier: BSD-2-Clause */
/* The same cases by a portable implementation in a plain Linux program: the same calls as in the TA. */
#include <string.h>

#include "../../../bench/bench.h"
#include "../../../linux/idle.h"
#include "../../../linux/load.h"
#include "../../../operations/frame.h"
#include "../scenario.h"

void frame_check(const char *name, const char *measure, int ok)
{
	bench_record_check(name, measure, ok);
}

static void check(const char *operation)
{
	known_answers(strcmp(operation, "digest") ? operation : "sha256");
}

#if OPS_CURVE != OPS_CURVE_NONE
struct pair {
	uint8_t private_key[OPS_PRIVATE_BYTES];
	uint8_t public_key[OPS_PUBLIC_BYTES];
};

static struct pair keys[2];

static int keygen(int side, const struct crypto_lengths *lengths, uint8_t *public_key, uint8_t *private_key)
{
	int result = ops_keygen(keys[side].private_key, keys[side].public_key);

	memcpy(public_key, keys[side].public_key, lengths->public_key);
	memcpy(private_key, keys[side].private_key, lengths->private_key);
	return result;
}
#endif /* OPS_CURVE_NONE */

#if FRAME_HAS_SIGN
static int sign(const uint8_t *message, size_t length, uint8_t *signature, size_t signature_length,
		struct bench_span *inner)
{
	(void)signature_length;
	(void)inner;
	return ops_sign(keys[0].private_key, keys[0].public_key, message, length, signature);
}

static int verify(const uint8_t *message, size_t length, const uint8_t *signature, size_t signature_length,
		  struct bench_span *inner)
{
	(void)signature_length;
	(void)inner;
	return ops_verify(keys[0].public_key, message, length, signature);
}
#endif /* FRAME_HAS_SIGN */

#if FRAME_HAS_ECDH
static int ecdh(int side, const struct crypto_lengths *lengths, const uint8_t *peer, uint8_t *secret,
		struct bench_span *inner)
{
	(void)lengths;
	(void)inner;
	return ops_ecdh(keys[side].private_key, peer, secret);
}
#endif /* FRAME_HAS_ECDH */

#if FRAME_HAS_SHA256
static int digest(const uint8_t *message, size_t length, uint8_t output[32], struct bench_span *inner)
{
	(void)inner;
	return ops_sha256(message, length, output);
}
#endif /* FRAME_HAS_SHA256 */

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("linux-bench", ops_name, argc, argv);
	const char *curve = bench_parameter(&plan, "curve");
	static const struct crypto_world world = {
		.place = "linux",
		.check = check,
#if OPS_CURVE != OPS_CURVE_NONE
		.keygen = keygen,
#endif /* OPS_CURVE_NONE */
#if FRAME_HAS_SIGN
		.sign = sign,
		.verify = verify,
#endif /* FRAME_HAS_SIGN */
#if FRAME_HAS_ECDH
		.ecdh = ecdh,
#endif /* FRAME_HAS_ECDH */
#if FRAME_HAS_SHA256
		.digest = digest,
#endif /* FRAME_HAS_SHA256 */
	};
	uint64_t idle = idle_entries();
	int result;

	if (strcmp(curve ? curve : "", FRAME_CURVE))
		bench_fail("this program has another curve: %s", FRAME_CURVE);
	load_start(&plan);
	result = ops_open();
	if (result)
		bench_fail("%s: open failed: %#x", ops_name, (unsigned int)result);
	scenario_crypto(&plan, &world);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
