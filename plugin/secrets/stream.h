/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one call executed: runs of instructions that follow each other in memory, and the addresses that they accessed.
 * It is the same however the emulator cuts code into blocks.
 */
#ifndef WORLDWISE_SECRETS_STREAM_H
#define WORLDWISE_SECRETS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"

/* Instructions from `start` on, up to a branch that is taken. */
struct run {
	uint64_t start;
	uint32_t bytes;
	uint32_t first_access; /* the number of its first access, and of the next run's if it has none */
	uint32_t before;       /* instructions executed before it */
};

/* All zeros: nothing was executed. */
struct stream {
	struct run *runs;
	size_t run_count;
	size_t run_room;
	uint64_t *accesses; /* an address in the upper 48 bits, below it the instruction's place in its run */
	size_t access_count;
	size_t access_room;
	uint32_t instructions;
};

void stream_empty(struct stream *stream);
/* So many instructions were executed. */
void stream_block(struct stream *stream, uint64_t start, uint32_t bytes, uint32_t instructions);
/* The last ones of them were not: an exception came before. */
void stream_take_back(struct stream *stream, uint32_t bytes, uint32_t instructions);
/* An instruction of the last run accesses memory. */
void stream_access(struct stream *stream, uint64_t pc, uint64_t address);

/* The address behind a run, the number of the access behind its last, and of an access the instruction and address. */
uint64_t run_end(const struct stream *stream, size_t run);
size_t run_last_access(const struct stream *stream, size_t run);
uint64_t access_pc(const struct stream *stream, size_t run, size_t access);
uint64_t access_address(const struct stream *stream, size_t access);

/* How many instructions were executed before the one at `pc` in a run. `known`: where instructions begin. */
uint32_t stream_position(const struct stream *stream, size_t run, uint64_t pc, const struct map *known);

#endif /* WORLDWISE_SECRETS_STREAM_H */
