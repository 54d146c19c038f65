/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What names a client's key, with additional data behind it: SEAL, OPEN and others. Of that data there are 16 bytes at most here:
 * all sizes follow from the constant, and with 1,024 the proof takes more than ten minutes.
 */
#include "proofs.h"

#include "keycache_ta.h"

#undef KEYCACHE_AAD_BYTES
#define KEYCACHE_AAD_BYTES 16

#include "keycache_ta.c"

bool keys_naive(void)
{
	return nondet_bool();
}

static void prove_id(const struct id *id)
{
	size_t at = nondet_size();

	__CPROVER_assert(id->length >= 1 && id->length <= KEYCACHE_ID_BYTES, "an id has 1 to 64 characters");
	__CPROVER_assume(at < id->length);
	__CPROVER_assert(id->bytes[at] > ' ' && id->bytes[at] <= '~', "each is printable, and no space");
}

void prove_take_named(void)
{
	TEE_Param param = any_memory(NAMED_BYTES);
	struct id id;
	struct aad aad;

	if (take_named(&param, &id, &aad))
		return;
	prove_id(&id);
	__CPROVER_assert(aad.size <= KEYCACHE_AAD_BYTES, "no more additional data than a command takes");
	__CPROVER_assert(__CPROVER_r_ok(aad.bytes, aad.size), "all of it is in the copy");
}

void prove_take_either(void)
{
	TEE_Param param = any_memory(1 + KEYCACHE_ID_BYTES);
	struct id id;

	if (!take_either(&param, &id))
		prove_id(&id);
}
