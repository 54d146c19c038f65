/* SPDX-License-Identifier: BSD-2-Clause */
/* FANOUT's list of receivers, taken piece by piece. What keys and ciphers answer may be anything. */
#include "proofs.h"

#include "keycache_ta.c"

bool keys_naive(void)
{
	return nondet_bool();
}

TEE_Result keys_use(const struct id *id, const struct keycache_offer *offer, struct key *key, bool *cached)
{
	__CPROVER_assert(id->length >= 1 && id->length <= KEYCACHE_ID_BYTES, "an id has 1 to 64 characters");
	__CPROVER_assert(!offer || __CPROVER_r_ok(offer, sizeof(*offer)), "an offer is all there");
	key->flags = nondet_byte();
	*cached = nondet_bool();
	return nondet_result();
}

TEE_Result keys_count(const struct id *id, struct key *key)
{
	(void)id;
	key->flags = nondet_byte();
	return nondet_result();
}

void keys_denied(void)
{
}

bool messages_next_counts(void)
{
	return nondet_bool();
}

TEE_Result message_seal(const struct key *key, const struct aad *aad, const uint8_t *text, size_t bytes, uint8_t *to)
{
	(void)key;
	(void)aad;
	__CPROVER_assert(__CPROVER_r_ok(text, bytes), "all of the text may be read");
	__CPROVER_assert(__CPROVER_w_ok(to, bytes + KEYCACHE_EXTRA_BYTES), "the message has room");
	return nondet_result();
}

void prove_seal_for_next(void)
{
	size_t input = nondet_size();
	size_t text = nondet_size();
	uint8_t *from;
	TEE_Param to;
	struct aad aad = { .bytes = named, .size = 0 };
	struct rest rest;
	uint32_t result;

	/* Enough for a receiver with an offer, and more; what is left of an input is known to be all there. */
	__CPROVER_assume(input <= 2 * (sizeof(struct keycache_receiver) + sizeof(struct keycache_offer)));
	__CPROVER_assume(text <= KEYCACHE_PAYLOAD_BYTES);
	from = malloc(input);
	to.memref.size = KEYCACHE_FAN_STRIDE(text + KEYCACHE_EXTRA_BYTES);
	to.memref.buffer = malloc(to.memref.size);
	__CPROVER_assume(from && to.memref.buffer);
	rest = (struct rest){ from, input };
	(void)seal_for_next(&rest, nondet_byte(), &aad, text, &to, &result);
	__CPROVER_assert(rest.bytes <= input && rest.at == from + (input - rest.bytes), "the rest is the input's end");
}
