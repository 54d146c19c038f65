/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of any length for hashing, which the host makes again to check the digests: a block of 64 KiB over and over,
 * its bytes those of a linear congruential generator, with the call's number in the first eight bytes (little-endian).
 */
#ifndef WORLDWISE_BENCH_MESSAGE_H
#define WORLDWISE_BENCH_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "bench.h"

#define MESSAGE_BLOCK 65536
#define SHA256_BYTES 32

/* The block that messages are made of, MESSAGE_BLOCK bytes. */
const uint8_t *message_block(void);

/* A message of `size` bytes, in memory of its own, every page of it touched. Ends the program if there is no room. */
uint8_t *message_make(size_t size);

/* Makes it the message of call number `index`. */
void message_mark(uint8_t *message, size_t size, uint32_t index);

/* Records a digest; `content` is "blocks" for a message as above, "zeros" for one of zeros. */
void message_record_digest(uint32_t index, const char *content, size_t size, const uint8_t digest[SHA256_BYTES]);

/*
 * Hashes the standard's example "abc" with `hash` and records whether the digest is the one that it gives. `hash`
 * returns 0 if it went well.
 */
void message_known_answer(int (*hash)(const uint8_t *message, size_t size, uint8_t digest[SHA256_BYTES]));

#endif /* WORLDWISE_BENCH_MESSAGE_H */
