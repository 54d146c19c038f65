/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code as the emulator translates it, cut at the marks of regions, with the cycles that it took so far. */
#ifndef WORLDWISE_CYCLES_SEGMENTS_H
#define WORLDWISE_CYCLES_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <qemu-plugin.h>

#include "../model/model.h"

#define MAX_CORES 16

/* Instructions in a row without a mark, of one translation of the emulator. */
struct segment {
	uint64_t pc;
	uint32_t instructions;
	uint32_t bytes;
	const uint8_t *content;
	const uint32_t *offsets; /* of each instruction from pc, and `bytes` behind the last */
	struct code *code;       /* NULL until the instruction set is known */
	uint64_t times;          /* how often it was executed in regions, whole or in part */
	uint64_t executed;
	struct spent spent[MAX_CORES];
};

/* Where an instruction is. */
struct place {
	const struct segment *segment;
	uint32_t index;
};

void segments_start(void);

/* The segment of `count` instructions from number `first` of a translation: the same one for the same code. */
struct segment *segment_of(const struct qemu_plugin_tb *translation, size_t first, size_t count);
/* Decodes a segment, before it is executed for the first time. */
void segment_decode(struct segment *segment, enum instruction_set set);

/* How many instructions of a segment are before `address`: all if it lies outside. */
uint32_t segment_before(const struct segment *segment, uint64_t address);

/* One line of JSON for each segment that was executed in regions, in the order of addresses. */
void segments_write(FILE *out, struct model *const *models, size_t cores);

#endif /* WORLDWISE_CYCLES_SEGMENTS_H */
