/* SPDX-License-Identifier: BSD-2-Clause */
/* HMAC_DRBG of NIST SP 800-90A Rev. 1, 10.1.2, with SHA-256: without reseeding, and without additional input. */
#ifndef WORLDWISE_INPUTS_DRBG_H
#define WORLDWISE_INPUTS_DRBG_H

#include <stddef.h>
#include <stdint.h>

#define DRBG_BYTES 32

struct drbg {
	uint8_t key[DRBG_BYTES];
	uint8_t value[DRBG_BYTES];
};

/* `seed` is entropy, nonce and personalization, one after the other. */
void drbg_start(struct drbg *drbg, const uint8_t *seed, size_t length);

/* One request of `length` bytes; the standard has at most 65,536. */
void drbg_generate(struct drbg *drbg, uint8_t *out, size_t length);

#endif /* WORLDWISE_INPUTS_DRBG_H */
