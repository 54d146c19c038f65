/* SPDX-License-Identifier: BSD-2-Clause */
/* What the frame gives to a library. */
#ifndef WORLDWISE_ADAPTERS_OPS_GIVEN_H
#define WORLDWISE_ADAPTERS_OPS_GIVEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Random bytes for keys and nonces, from the frame: a generator that gives the same bytes in every run. Always succeeds.
 * What an implementation does to get from these to a nonce is part of what is measured; the bytes themselves cost little.
 */
void ops_random(uint8_t *bytes, size_t length);

/*
 * SHA-256 for libraries that have none of their own (micro-ecc, p256-m): one and the same for all of them, so that their
 * figures compare. The frame provides it; a report says that it is used.
 */
void ops_frame_sha256(const uint8_t *message, size_t length, uint8_t digest[32]);

#endif /* WORLDWISE_ADAPTERS_OPS_GIVEN_H */
