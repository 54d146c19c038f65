/* SPDX-License-Identifier: BSD-2-Clause */
/* A bucket's slots as they come out of a storage that the normal world keeps: what is taken for a slot, and its place. */
#include "proofs.h"

#include "index.c"

uint64_t siphash(const struct id *id)
{
	__CPROVER_assert(id->length <= KEYCACHE_ID_BYTES, "no more of an id than there is");
	return nondet_size();
}

void prove_enter(void)
{
	static struct frame frame;
	struct slot slot;
	struct bucket bucket;
	uint32_t number = nondet_result();
	uint32_t at = nondet_result();

	__CPROVER_assume(at < FRAME_SLOTS);
	if (!valid(&slot, number))
		return;
	__CPROVER_assert(!slot.id_length || number < KEYCACHE_BUCKETS, "a client's slot is of a bucket");
	enter(&bucket, &frame, at, &slot);
	__CPROVER_assert((frame.marks[at] != 0) == (slot.id_length != 0), "marks tell a slot that is taken");
	__CPROVER_assert(bucket.highest >= slot.version, "the highest version is no lower than a slot's");
}
