/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A microcontroller's flash, with what stands before it: buffers that read ahead, a cache of instructions, a cache of
 * data. Everything in cycles of the core. All of a Cortex-M's code region, below 0x20000000, is flash here.
 */
#ifndef WORLDWISE_MODEL_FLASH_H
#define WORLDWISE_MODEL_FLASH_H

#include <stdbool.h>
#include <stdint.h>

#define FLASH_MAX_LINES 256
#define FLASH_END UINT64_C(0x20000000)

struct flash_line {
	uint64_t tag;   /* address / line bytes; FLASH_NONE for none */
	uint64_t ready; /* the cycle from which it can be read */
	uint64_t used;  /* when last, for the choice of what goes */
};

struct flash {
	/* From the board's file; a wait of 0 leaves the rest without a meaning. */
	uint32_t wait;       /* cycles that a read waits */
	uint32_t line;       /* bytes that a read brings */
	uint32_t buffers;    /* lines that a buffer for instructions holds, if there is no cache */
	uint32_t cache;      /* lines of the cache of instructions; 0 for none */
	uint32_t data_cache; /* lines of the cache of data; 0 for none */
	uint32_t ahead;      /* 1 if the next line is read before it is asked for */

	/* Its state. */
	uint64_t free; /* the cycle from which the flash can be read again */
	uint64_t clock;
	uint64_t last; /* tag of the line that instructions came from last, so that looking again costs nothing */
	struct flash_line code[FLASH_MAX_LINES];
	struct flash_line data[FLASH_MAX_LINES];
};

/* A line `memory NAME VALUE` of a core's table. */
bool flash_set(struct flash *flash, const char *name, uint32_t value);

/* Everything is empty, at cycle 0. */
void flash_forget(struct flash *flash);

/* How long an instruction at `address`, of so many bytes, waits for its last byte at cycle `now`. */
uint64_t flash_fetch(struct flash *flash, uint64_t address, uint32_t bytes, uint64_t now);

/* How long a load waits. */
uint64_t flash_load(struct flash *flash, uint64_t address, uint32_t bytes, uint64_t now);

#endif /* WORLDWISE_MODEL_FLASH_H */
