/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a portable implementation can be asked for, wherever it runs: each operation of its library with a call's input and
 * with the evidence of its result.
 */
#ifndef WORLDWISE_OPERATIONS_OPERATIONS_H
#define WORLDWISE_OPERATIONS_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>

struct operation {
	const char *name;
	const char *measure;
	int (*run)(void);                 /* what is measured, and nothing else */
	void (*prepare)(uint32_t index);  /* a call's input */
	void (*evidence)(uint32_t index); /* checks the call's result and records it */
};

/* The bytes of a message and the runs of a benchmark program, for all calls. */
void operations_prepare(size_t size, uint32_t runs);

/* The operation of this name. Ends the program by frame_fail() if the library has none. */
const struct operation *operations_find(const char *name);

#endif /* WORLDWISE_OPERATIONS_OPERATIONS_H */
