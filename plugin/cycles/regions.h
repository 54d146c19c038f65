/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The regions of a run: what is executed in them goes to the models, a segment at a time. */
#ifndef WORLDWISE_CYCLES_REGIONS_H
#define WORLDWISE_CYCLES_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <qemu-plugin.h>

#include "segments.h"

/* Before regions_start: cores, the output, and whether models forget before each region. Each false if it cannot be. */
bool regions_add_core(const char *path);
bool regions_open(const char *path);
bool regions_forget(void);
/* Each region is between two readings of the device at that address. */
bool regions_by_counter(const char *address);
/* Calls of the function at this address are regions. */
bool regions_of_function(const char *address);
/* Code from this address on is told apart, as Linux's. */
bool regions_of_linux(const char *address);
/* False without a core or an output. */
bool regions_start(void);

void region_begin(void);
/* `pc`: of the mark. */
void region_end(uint64_t pc);

/* How the processor came to a segment. */
struct arrival {
	bool exception;
	bool aborted;  /* by an access to data, whose instruction was not executed */
	uint64_t back; /* where the exception goes back to; 0: not known, or there was none */
};

/* The first instruction of a segment is about to be executed; without an `arrival` no exception is known of. */
void region_enter(struct segment *segment, const struct arrival *arrival);
/* An instruction reads the counter: a region ends with it, and the next one begins behind it. */
void region_reading(const struct place *place);
/* An instruction of the segment accesses memory. */
void region_access(const struct place *place, uint64_t address, uint32_t bytes, bool store);
/* Sees that a segment's last instruction is reached: else an exception ended it before. */
void region_watch_last(struct qemu_plugin_insn *instruction);

/* At the end of the run: writes the region that is still open, and the blocks. */
void regions_finish(void);

#endif /* WORLDWISE_CYCLES_REGIONS_H */
