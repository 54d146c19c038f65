/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages under clients' keys: nonce || ciphertext || tag, AES-GCM. */
#ifndef KEYCACHE_MESSAGES_H
#define KEYCACHE_MESSAGES_H

#include "types.h"

/* Additional data: what a message is about, which the other side must name alike. */
struct aad {
	const uint8_t *bytes;
	size_t size;
};

TEE_Result messages_open(void);
void messages_close(void);
/* Leaves no client's key in the operations, where the last one that was used stays. */
void messages_forget(void);

/*
 * Whether the next message that is sealed is one that is counted: one of 2^20, as chance has it. Its nonce says so, which costs
 * nothing, and is as good as any other.
 */
bool messages_next_counts(void);
/* All of it is memory of the TA; `in` and `out` are not the same. `message` takes KEYCACHE_EXTRA_BYTES more than `plain`. */
TEE_Result message_seal(const struct key *key, const struct aad *aad, const uint8_t *plain, size_t bytes,
			uint8_t *message);
/* KEYCACHE_BAD_TAG. `bytes` are the message's, at least KEYCACHE_EXTRA_BYTES. */
TEE_Result message_open(const struct key *key, const struct aad *aad, const uint8_t *message, size_t bytes,
			uint8_t *plain);

#endif /* KEYCACHE_MESSAGES_H */
