/* SPDX-License-Identifier: BSD-2-Clause */
/* What the calls TA and its client agree on: commands that do nothing but be called, and one that reads its payload. */
#ifndef WORLDWISE_APPS_CALLS_H
#define WORLDWISE_APPS_CALLS_H

#define CALLS_TA_UUID { 0xa1f5c2de, 0x0002, 0x4b1c, { 0x9a, 0x3e, 0x63, 0x61, 0x6c, 0x6c, 0x73, 0x00 } }

/* A payload is read through a block of the TA's own: a TA must not believe shared memory twice. */
#define CALLS_BLOCK 4096

enum calls_command {
	/* [0] value out: what an empty region costs in the TA; [1] value out: what an inner region adds to an outer. */
	CALLS_CALIBRATE = 0,

	/* No work. CALLS_VALUES + n takes n values in, for n up to 4. */
	CALLS_VALUES,

	/* No work: the payload is not touched. CALLS_SHARE + n takes a memref in and n values in, for n up to 3. */
	CALLS_SHARE = CALLS_VALUES + 5,

	/* [0] memref in: copied into the TA's own block, piece by piece; [2], [3] value out: the counter around that. */
	CALLS_READ = CALLS_SHARE + 4,

	/* [0] memref out, CALLS_BLOCK bytes at least: the last piece that READ copied. */
	CALLS_LAST,

	/* [0] memref in: [1] value out a: the FNV-1a hash of all its bytes, read by the TA. */
	CALLS_HASH,
};

/* FNV-1a, 32 bits: enough to see that every byte arrived. */
#define CALLS_HASH_BEGIN 2166136261U
#define CALLS_HASH_FACTOR 16777619U

#endif /* WORLDWISE_APPS_CALLS_H */
