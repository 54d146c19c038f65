/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycles: what the models of cores say about the blocks that mode stack counts. Nothing of it runs without a core. */
#ifndef WORLDWISE_CYCLES_H
#define WORLDWISE_CYCLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qemu-plugin.h>

#include "../model/sampling.h"
#include "blocks.h"
#include "cores.h"
#include "counts.h"

/* Asks QEMU for each access to memory of a block, if there is a core. */
void cycles_watch(struct qemu_plugin_tb *translation, const struct block *block);

/* The next accesses are those of another block: forgets those before. */
static inline void cycles_begin_block(void)
{
	accesses_seen = 0;
}

/* The rest of cycles_run(). */
void cycles_run_models(struct slot *slot, uint64_t next);

/* The block of that slot was executed, with the accesses since cycles_begin_block(); then the core went on at `next`. */
static inline void cycles_run(struct slot *slot, uint64_t next)
{
	if (cycles_cores)
		cycles_run_models(slot, next);
}

/* What comes is of the pass that has that sampling, which lives as long; NULL behind the last. */
void cycles_of_pass(struct sampling *sampling);

/* The first pass of a mark begins: all cores are as after a reset. */
void cycles_forget(void);

/*
 * Spans: what comes until the span ends is added up a second time, by itself: the rows that cycles_flush() would write of
 * it. One is open at a time.
 */
struct span;
void cycles_span_begins(void);
void cycles_span_ends(void);
/* A copy of what the open span has until now; NULL without cores, or if sampling left out some of it. */
struct span *cycles_span_copy(void);
void cycles_span_free(struct span *span);
/* Writes a record of it for each core. It began `at` instructions behind the begin of that pass. */
void cycles_span_write(const struct span *span, uint32_t pass, uint64_t at);

/*
 * Writes what `slots` took since the last time as the own of the pass, a record for each core, and clears it. If some of
 * it was skipped also how often, and what the cores took for the units that stand for it.
 */
void cycles_flush(uint32_t pass, struct slot *const *slots, size_t count);

#endif /* WORLDWISE_CYCLES_H */
