/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scheme in pqm4's or PQClean's layout as a program of a Cortex-M: RUNS times keys, then encapsulating and decapsulating,
 * or signing and verifying. Its calls of NIST's interface are counted from outside. It writes digests of all that came out,
 * so that two implementations of a scheme can be compared.
 *
 * SCHEME_PREFIX stands before the scheme's names; empty in pqm4. SCHEME_IS_KEM is 1 or 0. api.h is the scheme's own.
 */
#include "start.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "fips202.h"
#include "randombytes.h"

#define JOINED(prefix, name) prefix##name
#define JOIN(prefix, name) JOINED(prefix, name)
#define OF(name) JOIN(SCHEME_PREFIX, name)
#define PUBLIC_BYTES OF(CRYPTO_PUBLICKEYBYTES)
#define SECRET_BYTES OF(CRYPTO_SECRETKEYBYTES)

#define DIGEST_BYTES 32
/* As in pqm4's own measurements. */
#define MESSAGE_BYTES 59

static uint8_t public_key[PUBLIC_BYTES];
static uint8_t secret_key[SECRET_BYTES];

/* The same bytes for every implementation of a scheme: Marsaglia's xorshift with 32 bits. */
int randombytes(uint8_t *output, size_t length)
{
	static uint32_t state = 0x9E3779B9u;

	while (length) {
		state ^= state << 13;
		state ^= state >> 17;
		state ^= state << 5;
		for (unsigned int i = 0; i < 4 && length; i++, length--)
			*output++ = (uint8_t)(state >> (8 * i));
	}
	return 0;
}

static void write_digest(unsigned int run, const char *what, const uint8_t *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[DIGEST_BYTES];
	char text[2 * DIGEST_BYTES + 1] = { 0 };
	char line[sizeof(text) + 64];

	shake256(digest, sizeof(digest), bytes, length);
	for (unsigned int i = 0; i < DIGEST_BYTES; i++) {
		text[2 * i] = digits[digest[i] >> 4];
		text[2 * i + 1] = digits[digest[i] & 0xf];
	}
	(void)snprintf(line, sizeof(line), "vector %u %s %u %s\n", run, what, (unsigned int)length, text);
	start_write(line);
}

static void must(const char *what, int holds)
{
	if (holds)
		return;
	start_write("failed: ");
	start_write(what);
	start_write("\n");
	start_end();
}

#if SCHEME_IS_KEM
#define OUTPUT_BYTES OF(CRYPTO_CIPHERTEXTBYTES)
#define SHARED_BYTES OF(CRYPTO_BYTES)

static uint8_t output[OUTPUT_BYTES];
static uint8_t shared[SHARED_BYTES];
static uint8_t other[SHARED_BYTES];

static void use(unsigned int run)
{
	must("crypto_kem_keypair", !OF(crypto_kem_keypair)(public_key, secret_key));
	must("crypto_kem_enc", !OF(crypto_kem_enc)(output, shared, public_key));
	must("crypto_kem_dec", !OF(crypto_kem_dec)(other, output, secret_key));
	must("both sides have the same secret", !memcmp(shared, other, sizeof(shared)));
	write_digest(run, "output", output, sizeof(output));
	write_digest(run, "shared", shared, sizeof(shared));
}
#else
static uint8_t output[MESSAGE_BYTES + OF(CRYPTO_BYTES)];
static uint8_t message[sizeof(output)];
static uint8_t opened[sizeof(output)];

static void use(unsigned int run)
{
	size_t length = 0;
	size_t back = 0;

	must("crypto_sign_keypair", !OF(crypto_sign_keypair)(public_key, secret_key));
	(void)randombytes(message, MESSAGE_BYTES);
	must("crypto_sign", !OF(crypto_sign)(output, &length, message, MESSAGE_BYTES, secret_key));
	must("crypto_sign_open", !OF(crypto_sign_open)(opened, &back, output, length, public_key));
	must("the message is what was signed", back == MESSAGE_BYTES && !memcmp(opened, message, MESSAGE_BYTES));
	write_digest(run, "output", output, length);
}
#endif /* SCHEME_IS_KEM */

int main(void)
{
	char line[32];

	for (unsigned int run = 0; run < SCHEME_RUNS; run++) {
		use(run);
		write_digest(run, "public", public_key, sizeof(public_key));
		write_digest(run, "secret", secret_key, sizeof(secret_key));
	}
	(void)snprintf(line, sizeof(line), "heap %u\n", (unsigned int)start_most_heap());
	start_write(line);
	start_write("done\n");
	return 0;
}
