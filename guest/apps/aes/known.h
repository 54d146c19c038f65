/* SPDX-License-Identifier: BSD-2-Clause */
/* The standards' own examples of AES. */
#ifndef WORLDWISE_APPS_AES_KNOWN_H
#define WORLDWISE_APPS_AES_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "aes.h"

#define KNOWN_MOST_BYTES 80

struct known_answer {
	uint8_t key[AES_MOST_KEY_BYTES];
	uint8_t iv[AES_BLOCK_BYTES];
	uint8_t aad[20];
	uint8_t plain[KNOWN_MOST_BYTES];
	uint8_t cipher[KNOWN_MOST_BYTES]; /* of GCM with the tag behind it */
	size_t iv_size;
	size_t aad_size;
	size_t size; /* of the plain text */
};

/* `key_size` is 16 or 32, in bytes. */
const struct known_answer *known_answer(enum aes_mode mode, size_t key_size);

#endif /* WORLDWISE_APPS_AES_KNOWN_H */
