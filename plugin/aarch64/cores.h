/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The models of cores that run beside the processor, the accesses to memory that they are given, and what they took. */
#ifndef WORLDWISE_CORES_H
#define WORLDWISE_CORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qemu-plugin.h>

#include "../model/model.h"

#define MAX_CORES 8

/* How many cores the arguments name, and the model of each. */
extern size_t cycles_cores;
extern struct model *models[MAX_CORES];

/* Reads the table of one more core. False, with the reason on stderr, if it cannot be read or there are too many. */
bool cycles_add_core(const char *path);

/* Of the block that runs, in the order of time. */
extern struct access *accesses;
extern size_t accesses_seen;

/* Keeps each access of an instruction to memory while calls are counted; its `instruction` is what `place` says. */
void accesses_watch(struct qemu_plugin_insn *instruction, uint64_t place);

struct json_object; /* see trace.h */
struct printbuf;
struct slot; /* see counts.h */

/* A new record of a pass about a core. */
struct json_object *cores_record(const char *type, uint32_t pass, size_t core);

/* Prints the end of a row: the cycles of each cause and what is outside, with so many instructions more. */
void cores_print_spent(struct printbuf *buffer, const struct spent *spent, uint64_t outside_instructions);

/*
 * Writes a record `cycles` of each core, with a row for each slot, and forgets what the slots took. `outside` says how
 * many more instructions of a slot are outside the core's model; NULL for none.
 */
void cores_flush(uint32_t pass, struct slot *const *slots, size_t count,
		 uint64_t (*outside)(const struct slot *slot, const struct model *model));

#endif /* WORLDWISE_CORES_H */
